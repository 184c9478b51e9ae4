"""`nightshift`: one command for each thing that people who run it want to do.

A command's module is imported when the command runs, so that `nightshift --help` stays quick. Exit codes: 0 fine,
1 found something wrong, 2 wrong usage.
"""

import importlib
from typing import Annotated, Any, Literal, NoReturn

import typer

app = typer.Typer(
    name="nightshift",
    help="An Instagram and Facebook DM agent that never leaves a customer in silence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its frames show local variables: texts and tokens
)


def _run(module: str, **options: Any) -> NoReturn:
    """Import `module` and leave with the code that its `run` returns."""
    from runtime.settings import SettingsInvalid

    try:
        code = importlib.import_module(module).run(**options)
    except SettingsInvalid as exc:
        typer.echo(str(exc), err=True)
        raise typer.Exit(2) from exc
    raise typer.Exit(code)


@app.callback()
def nightshift() -> None:
    """Keep `nightshift` a group of commands, however few they are."""


@app.command()
def demo(
    real: Annotated[
        bool, typer.Option("--real", help="Ask the model of LLM_API_URL instead of the sandbox's.")
    ] = False,
    locale: Annotated[
        Literal["ru", "en"], typer.Option("--locale", help="Language of the shop and its customers.")
    ] = "ru",
    fast: Annotated[bool, typer.Option("--fast", help="Shorter waits between messages and for the answer.")] = False,
) -> None:
    """Play scripted conversations through the whole system against the sandbox."""
    _run("cli.demo", real=real, locale=locale, fast=fast)


@app.command()
def up() -> None:
    """Run every process of the Procfile, and an embedded Valkey if REDIS_URL is not set."""
    _run("cli.up")


ledger_app = typer.Typer(invoke_without_command=True, add_completion=False)
app.add_typer(ledger_app, name="ledger")


@ledger_app.callback()
def ledger(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, the totals alone.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="List every open message, and why it waits.")] = False,
    days: Annotated[int, typer.Option("--days", min=0, max=400, help="How many days to show one by one.")] = 7,
    verify: Annotated[bool, typer.Option("--verify", help="Compare inboxes, open messages and schedule, too.")] = False,
) -> None:
    """Count what became of every message; exit 1 if the books do not balance."""
    if context.invoked_subcommand is None:
        _run("cli.ledger", json=json, open_=open_, days=days, check=verify)


@ledger_app.command()
def why(
    mid: Annotated[str, typer.Argument(help="A message id of Meta's, or a conversation's hash.", show_default=False)],
) -> None:
    """Tell everything that happened to one message, or to one conversation."""
    _run("cli.ledger_why", mid=mid)


report_app = typer.Typer(invoke_without_command=True, add_completion=False)
app.add_typer(report_app, name="report")


@report_app.callback()
def report(
    context: typer.Context,
    since: Annotated[str, typer.Option("--since", help="How far back, like 30d, 12h or 2w.")] = "30d",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How often the models tried to stay silent, what caught it, who rescued it, what it cost."""
    if context.invoked_subcommand is None:
        _run("cli.report", since=since, json=json)


@report_app.command()
def reasoning(
    turn: Annotated[str, typer.Argument(help="A failed turn, as the report names it.", show_default=False)],
) -> None:
    """Print the raw thoughts of a failed turn; they are kept for seven days."""
    _run("cli.report_reasoning", turn=turn)


@app.command()
def health(
    process: Annotated[
        Literal["worker", "dispatcher", "beat"], typer.Argument(help="Which process of this host.", show_default=False)
    ],
) -> None:
    """Ask whether this host's process still does its work; exit 1 if it was not heard of lately."""
    _run("cli.health", process=process)


@app.command()
def rehearse(
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same plan; printed when not given.")] = None,
    conversations: Annotated[
        int, typer.Option(min=1, help="How many customers write, at least one for each fault.")
    ] = 160,
    minutes: Annotated[float, typer.Option(min=0, help="Play again and again for this long.")] = 0.0,
    only: Annotated[list[str] | None, typer.Option(help="Only this fault; may be given several times.")] = None,
    kill_worker_every: Annotated[
        float, typer.Option(min=0, help="SIGKILL a worker every so many seconds as well.")
    ] = 0.0,
    url: Annotated[str, typer.Option(help="Rehearse a running stack; needs --serve-sandbox.")] = "",
    serve_sandbox: Annotated[
        int, typer.Option(min=0, max=65532, help="Serve its other side on this port and the next two.")
    ] = 0,
    list_faults: Annotated[bool, typer.Option("--list", help="Name every fault and leave.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the logs although nothing was broken.")] = False,
) -> None:
    """The silence test: customers write while everything breaks; exit 1 on a broken promise."""
    _run(
        "cli.rehearse",
        seed=seed,
        conversations=conversations,
        minutes=minutes,
        only=only or [],
        kill_worker_every=kill_worker_every,
        url=url,
        serve_sandbox=serve_sandbox,
        list_faults=list_faults,
        json=json,
        keep=keep,
    )


def main() -> None:
    app()


if __name__ == "__main__":
    main()
