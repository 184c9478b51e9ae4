"""`nightshift demo`: five conversations through the whole running system, each one held to its promise."""

import io
import os
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self

import orjson
from rich.console import Console

from bot.errors import NightshiftError
from bot.outcome import Outcome
from cli.demo_player import Player
from cli.demo_scenes import Scene, Seen, broken_for_any_model, scenes
from cli.demo_view import View
from cli.env_file import adopt_env_file
from runtime.embedded import EmbeddedValkeyFailed
from runtime.settings import Settings, load_settings
from sandbox.stack import ROOT, Stack, StackFailed
from store.ledger import Sums

FLAGSHIP = "Кружка «Туман»"  # the first scene asks for it
REAL_SHOWS = "A real model cannot be told what to do. See below what this turned out to be."
NO_KEY = """\
The real model needs a key, and LLM_API_KEY is not set. Put it into .env or the environment:
  LLM_API_KEY=...      your provider's key (any word will do for a server that wants none)
  LLM_API_URL=...      only if it is not OpenRouter: any OpenAI-compatible address
Then `make demo REAL=1` again. Plain `make demo` needs no key.
"""


@dataclass(frozen=True, slots=True)
class _Pace:
    """Seconds: between two messages of a burst, of quiet that ends a burst, and what a scene may take at most."""

    gap: float
    quiet: float
    patience: float


def run(*, real: bool, locale: str = "ru", fast: bool = False, make_stack: Callable[..., Stack] = Stack) -> int:
    """0 when all went as promised, 1 when not, 2 when something must be set first, 128 + N when signal N ended it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Cyrillic shows question marks, not a traceback
    view = View(Console(highlight=False, emoji=False, markup=False))
    options: dict[str, Any] = {}
    pace = _Pace(gap=0.3, quiet=1.0, patience=60) if fast else _Pace(gap=0.4, quiet=2.0, patience=60)
    if real:
        adopt_env_file()
        settings = load_settings(redis_required=False)
        if not settings.env.llm_api_key.get_secret_value():
            sys.stderr.write(NO_KEY)
            return 2
        options = _real_model(settings)
        pace = _Pace(pace.gap, pace.quiet, patience=2 * settings.config.turn.budget_seconds + 60)
        view.say(f"The model is a real one: {settings.config.model.name} at {settings.env.llm_api_url}.")
    directory = Path(tempfile.mkdtemp(prefix="nightshift-demo-"))
    faults: list[str] = []
    with _Signals() as signals:
        try:
            stack = make_stack(directory, locale=locale, quiet=pace.quiet, max_wait=4 * pace.quiet, **options)
            faults = _perform(view, stack, signals, pace, locale=locale, real=real)
        except (StackFailed, EmbeddedValkeyFailed) as exc:
            faults = [str(exc).partition("\n")[0].rstrip(":")]  # the rest are log lines, and the logs are kept
        except NightshiftError as exc:
            faults = [f"the running system cannot be looked into: {type(exc).__name__} ({exc})"]
        except (KeyboardInterrupt, SystemExit):  # the latter is rich's, when the reader of the output is gone
            shutil.rmtree(directory, ignore_errors=True)
            if not signals.received:
                raise
            view.say("Interrupted. Everything is stopped, nothing is left behind.")
            return 128 + signals.received
    if not faults:
        shutil.rmtree(directory, ignore_errors=True)
    return _conclude(view, faults, directory)


def _perform(view: View, stack: Stack, signals: "_Signals", pace: _Pace, *, locale: str, real: bool) -> list[str]:
    """Start, play, count, stop; each broken promise as a sentence."""
    with _stopping(view, stack, signals):
        with view.busy("Starting Valkey, receiver, dispatcher, worker and the sandbox"):
            stack.__enter__()
        if not real:
            view.say("It runs. The model is the sandbox's and its words are scripted; all the rest is the product.")
        player = Player(stack, gap_seconds=pace.gap, patience_seconds=pace.patience)
        with player:
            return _play_all(view, player, locale=locale, real=real)


def _play_all(view: View, player: Player, *, locale: str, real: bool) -> list[str]:
    stub = _stub(locale)
    played: list[tuple[Scene, Seen]] = []
    faults: list[str] = []
    for number, scene in enumerate(scenes(catalogue_as_shipped=_catalogue_as_shipped()), start=1):
        view.heading(number, scene.topic if real else scene.title, REAL_SHOWS if real else scene.shows)
        with view.busy(f"Scene {number}: the customer writes and waits"):
            seen = player.play(scene.texts[locale])
        broken = broken_for_any_model(seen, stub=stub) if real else scene.promise.broken(seen, stub=stub)
        view.scene(seen, with_cost=real)
        view.promise(broken, seen)
        played.append((scene, seen))
        faults += [f"scene {number} ({scene.title}): {sentence}" for sentence in broken]
    for scene, seen in played:  # a reply that was sent twice may come late
        if player.replies(seen.customer_id) != seen.replies:
            faults.append(f"{scene.title}: the customer was written to again afterwards")
    sums = player.sums()
    view.ledger(sums)
    return faults + _broken_books(sums, [seen for _, seen in played])


def _broken_books(sums: Sums, played: Sequence[Seen]) -> list[str]:
    """What the ledger says otherwise than the scenes did."""
    counted = sums.as_json()
    outcomes = Counter(outcome for seen in played for outcome in seen.outcomes)
    expected = {"received": sum(len(seen.said) for seen in played)} | {o.value: outcomes[o.value] for o in Outcome}
    faults = [
        f"the ledger counts {counted[name]} {name.replace('_', ' ')}, the scenes had {number}"
        for name, number in expected.items()
        if counted[name] != number
    ]
    if not sums.balanced:
        faults.append("the books do not balance")
    if sums.open:
        faults.append(f"{sums.open} messages have no outcome")
    return faults


def _conclude(view: View, faults: list[str], directory: Path) -> int:
    if not faults:
        view.say("The books balance: every message has an outcome, and nobody was left in silence.", "bold green")
        return 0
    view.say("Not everything went as promised:", "bold red")
    for fault in faults:
        view.say(f"- {fault}")
    view.say(f"The logs of all processes are kept in {directory}")
    return 1


@contextmanager
def _stopping(view: View, stack: Stack, signals: "_Signals") -> Iterator[None]:
    """Whatever happens inside, everything is stopped afterwards, and no second Ctrl-C cuts that short."""
    try:
        yield
    finally:
        signals.armed = False
        with view.busy("Stopping everything"):
            stack.stop()


class _Signals:
    """SIGINT, SIGTERM and SIGHUP interrupt the demo once, and only while it is `armed`."""

    def __init__(self) -> None:
        self.armed = True
        self.received = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a shell's background job
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.armed:
            self.armed, self.received = False, number
            raise KeyboardInterrupt


def _real_model(settings: Settings) -> dict[str, Any]:
    """The operator's own model, ladder and time limit, for the sandbox's shop."""
    raw = tomllib.loads(settings.env.nightshift_config.read_text(encoding="utf-8"))
    tables = [("[model]", raw.get("model", {})), *(("[[ladder]]", rung) for rung in raw.get("ladder", ()))]
    lines = [line for head, table in tables for line in (head, *(f"{k} = {_toml(v)}" for k, v in table.items()))]
    certificates = {name: os.environ[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)}
    return {
        "budget": settings.config.turn.budget_seconds,
        "more": "\n".join(["", *lines]),
        "environment": {
            "LLM_API_URL": settings.env.llm_api_url,
            "LLM_API_KEY": settings.env.llm_api_key.get_secret_value(),
            **certificates,
        },
    }


def _toml(value: Any) -> str:
    """A value on one line; JSON's texts, numbers and booleans are TOML's too."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(name)} = {_toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return orjson.dumps(value).decode()


def _stub(locale: str) -> str:
    """The fixed line that a customer reads when no model helps."""
    lines = tomllib.loads((ROOT / "prompts" / locale / "lines.toml").read_text(encoding="utf-8-sig"))
    return str(lines["stub"])


def _catalogue_as_shipped() -> bool:
    catalogue = ROOT / "knowledge" / "catalog.csv"
    return catalogue.exists() and FLAGSHIP in catalogue.read_text(encoding="utf-8-sig", errors="replace")
