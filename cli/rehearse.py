"""`nightshift rehearse`: the silence test. Customers write, things break, the ledger is read."""

import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import httpx
import orjson

from bot.errors import NightshiftError
from rehearsal.checker import check
from rehearsal.customers import Customers
from rehearsal.fault_injector import FaultInjector
from rehearsal.faults.catalogue import CATALOGUE
from rehearsal.faults.fault import Fault
from rehearsal.report import Report, make_report, write_stories
from rehearsal.run import Progress, Run
from rehearsal.view import progress_bar, show_catalogue, show_report
from rehearsal.workload import make_workload
from runtime.embedded import EmbeddedValkeyFailed
from runtime.settings import Settings, load_settings
from sandbox.meta.server import MetaSandbox
from sandbox.model.server import ModelStandIn
from sandbox.server import SandboxServer
from sandbox.stack import Stack, StackFailed
from sandbox.telegram.server import TelegramSandbox
from store.turns.lease import LEASE_SECONDS

CONVERSATIONS = 160
QUIET_SECONDS = 0.3
MAX_WAIT_SECONDS = 1.0
BUDGET_SECONDS = 15.0
GRACE_SECONDS = 30.0  # beside max_wait and budget: what the design allows before an open message is an incident
SETTLE_SECONDS = 100.0  # an alert whose task was lost is handed out again after a minute
JOIN_SECONDS = 600.0
HAND_OUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Times:
    """How patient the rehearsed stack is, by its configuration."""

    max_wait_seconds: float
    budget_seconds: float

    @property
    def limit_seconds(self) -> float:
        return self.max_wait_seconds + self.budget_seconds + GRACE_SECONDS


class WrongUsage(Exception):
    """The message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Options:
    faults: Sequence[Fault]
    seed: int
    conversations: int = CONVERSATIONS
    minutes: float = 0.0
    kill_worker_every: float = 0.0
    processes: Sequence[str] = ("web", "dispatcher", "worker")
    settle_seconds: float = SETTLE_SECONDS


def run(
    *,
    seed: int | None,
    conversations: int,
    minutes: float,
    only: list[str],
    kill_worker_every: float,
    url: str,
    serve_sandbox: int,
    list_faults: bool,
    json: bool,
    keep: bool,
) -> int:
    """0 when every promise was kept, 1 when one was broken, 2 for wrong usage."""
    if list_faults:
        show_catalogue()
        return 0
    signal.signal(signal.SIGTERM, _end)
    try:
        _check(url, serve_sandbox, kill_worker_every)
        options = Options(
            faults=_chosen(only, own_stack=not url),
            seed=secrets.randbelow(10**6) if seed is None else seed,
            conversations=conversations,
            minutes=minutes,
            kill_worker_every=kill_worker_every,
        )
    except WrongUsage as exc:
        sys.stderr.write(f"{exc}\n")
        return 2
    directory = Path(tempfile.mkdtemp(prefix="nightshift-rehearsal-"))
    sys.stderr.write(f"seed {options.seed}, {len(options.faults)} faults, logs in {directory}\n")
    try:
        report = rehearse_at(url, serve_sandbox, options, directory) if url else rehearse(options, directory)
    except (StackFailed, EmbeddedValkeyFailed, NightshiftError) as exc:
        sys.stderr.write(f"The rehearsal could not be held: {exc}\n")
        return 1
    except (KeyboardInterrupt, SystemExit):
        shutil.rmtree(directory, ignore_errors=True)
        raise
    if not keep and not report.broken:
        shutil.rmtree(directory, ignore_errors=True)
    return tell(report, json=json)


def tell(report: Report, *, json: bool) -> int:
    """Print it; the exit code that it means."""
    if json:
        sys.stdout.write(orjson.dumps(report.as_json()).decode() + "\n")
    else:
        show_report(report)
    return 1 if report.broken else 0


def rehearse(options: Options, directory: Path) -> Report:
    """Start the stack, play, check, and leave nothing running."""
    stack = Stack(
        directory,
        processes=options.processes,
        quiet=QUIET_SECONDS,
        max_wait=MAX_WAIT_SECONDS,
        budget=BUDGET_SECONDS,
    )
    with progress_bar() as show, stack:
        customers = Customers(stack.meta, stack.model, stack.telegram)
        injector = FaultInjector(customers, stack)
        times = Times(MAX_WAIT_SECONDS, BUDGET_SECONDS)
        return _hold(options, directory, customers, injector, stack.valkey.url, times, show)


def rehearse_at(url: str, port: int, options: Options, directory: Path) -> Report:
    """The same against a stack that others run; its Redis is REDIS_URL, its other side is served here."""
    settings = load_settings()
    meta, model, telegram = _sandbox_of(settings, url)
    servers = [SandboxServer(app, port + place) for place, app in enumerate((meta.app, model.app, telegram.app))]
    sys.stderr.write(environment_for(port))
    for server in servers:
        server.start()
    try:
        _wait_until_up(url, settings.env.ops_token.get_secret_value().strip())
        customers = Customers(meta, model, telegram)
        times = Times(settings.config.debounce.max_wait_seconds, settings.config.turn.budget_seconds)
        with progress_bar() as show:
            redis_url = settings.env.redis_url.get_secret_value()
            return _hold(options, directory, customers, FaultInjector(customers), redis_url, times, show)
    finally:
        for server in servers:
            server.stop()


def environment_for(port: int) -> str:
    """What the other stack must be started with; all else stays as it is."""
    names = ("GRAPH_API_URL", "LLM_API_URL", "TELEGRAM_API_URL")
    urls = {name: f"http://127.0.0.1:{port + place}" for place, name in enumerate(names)}
    urls["INSTAGRAM_API_URL"] = urls["GRAPH_API_URL"]
    return "".join(f"{name}={value}\n" for name, value in urls.items())


def _hold(
    options: Options,
    directory: Path,
    customers: Customers,
    injector: FaultInjector,
    redis_url: str,
    times: Times,
    show: Callable[[Progress], None],
) -> Report:
    workload = make_workload(
        options.faults, seed=options.seed, conversations=options.conversations, minutes=options.minutes
    )
    rehearsal = Run(
        customers,
        injector,
        workload,
        redis_url=redis_url,
        limit_seconds=times.limit_seconds,
        again_seconds=LEASE_SECONDS + HAND_OUT_SECONDS + times.budget_seconds,
        settle_seconds=options.settle_seconds,
        worker_every_seconds=options.kill_worker_every,
        show=show,
    )
    evidence, observer = rehearsal.run()
    broken = check(evidence)
    write_stories(evidence, broken, directory)
    notes = [f"{name} ended by itself and was started again" for name in injector.ended]
    if observer.mended:
        notes.append(
            f"{observer.mended} parked account(s) were set free after seconds, as an operator would in minutes"
        )
    return make_report(evidence, broken, seed=options.seed, directory=directory, notes=notes)


def _check(url: str, serve_sandbox: int, kill_worker_every: float) -> None:
    if bool(url) != bool(serve_sandbox):
        raise WrongUsage(_both_needed(serve_sandbox or 9101))
    if url and kill_worker_every:
        raise WrongUsage("--kill-worker-every needs a stack of its own: leave out --url")


def _chosen(only: Sequence[str], *, own_stack: bool) -> list[Fault]:
    unknown = [name for name in only if name not in CATALOGUE]
    if unknown:
        raise WrongUsage(f"No fault is named {', '.join(unknown)}; `nightshift rehearse --list` names them all.")
    chosen = [CATALOGUE[name] for name in dict.fromkeys(only)] or list(CATALOGUE.values())
    if own_stack:
        return chosen
    if only and (impossible := [fault.name for fault in chosen if fault.needs_own_stack]):
        raise WrongUsage(f"With --url nothing can be killed: {', '.join(impossible)} needs a stack of its own.")
    return [fault for fault in chosen if not fault.needs_own_stack]


def _both_needed(port: int) -> str:
    return (
        f"--url and --serve-sandbox go together. Start the other stack with\n{environment_for(port)}"
        f"then, with its REDIS_URL, META_APP_SECRETS and tokens in the environment here:\n"
        f"nightshift rehearse --url http://127.0.0.1:8000 --serve-sandbox {port}"
    )


def _sandbox_of(settings: Settings, url: str) -> tuple[MetaSandbox, ModelStandIn, TelegramSandbox]:
    env = settings.env
    if not env.app_secrets:
        raise StackFailed("META_APP_SECRETS is not set: webhooks could not be signed")
    if not env.telegram_bot_token.get_secret_value() or not settings.config.accounts:
        raise StackFailed("TELEGRAM_BOT_TOKEN or the accounts are not set: set them as the running stack has them")
    meta = MetaSandbox(
        settings.config.accounts,
        app_secret=env.app_secrets[0],
        app_id=env.meta_app_id,
        webhook_url=f"{url.rstrip('/')}/webhooks/meta",
    )
    return meta, ModelStandIn(), TelegramSandbox(token=env.telegram_bot_token.get_secret_value())


def _wait_until_up(url: str, ops_token: str) -> None:
    headers = {b"Authorization": f"Bearer {ops_token}".encode()} if ops_token else {}
    deadline = time.monotonic() + JOIN_SECONDS
    sys.stderr.write(f"waiting for {url}/health/system to be fine (at most {JOIN_SECONDS:.0f} s)\n")
    while True:
        try:
            seen = httpx.get(f"{url.rstrip('/')}/health/system", headers=headers, timeout=5, trust_env=False)
            if seen.is_success:
                return
            if seen.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                raise StackFailed(f"{url}/health/system answers {seen.status_code}: set OPS_TOKEN as the stack has it")
        except httpx.HTTPError:
            pass  # not there yet: the deadline says when to stop asking
        if time.monotonic() > deadline:
            raise StackFailed(f"{url} is not up")
        time.sleep(0.5)


def _end(_: int, __: FrameType | None) -> None:
    """SIGTERM unwinds like Ctrl-C, so that everything that was started is stopped."""
    raise SystemExit(128 + signal.SIGTERM)


__all__ = ["Options", "rehearse", "run"]
