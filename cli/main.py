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


@app.command()
def ledger(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Count what became of every message; exit 1 if the books do not balance."""
    _run("cli.ledger", json=json)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
