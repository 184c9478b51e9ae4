"""What the demo prints: chat bubbles, the inside of a turn, alerts, the books. Plain text without a terminal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from rich.align import Align
from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from bot.outcome import Outcome
from cli.demo_scenes import Attempt, Line, Seen
from runtime.clock import local
from store.ledger import Sums

WIDEST = 100
TIMEZONE = "Europe/Moscow"  # of the sandbox's shop, and so of its alerts
_RUNGS = {"main": "the model", "kick_1": "kick 1", "kick_2": "kick 2", "fallback": "fallback model"}
_CAME_BACK = {
    "reasoning_lock": "thoughts, not one word",
    "budget_eaten": "all was spent on thoughts",
    "true_empty": "nothing at all",
}


class View:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._console.width = min(console.width, WIDEST)

    def say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style))

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """A spinner with the seconds passed, or one plain line where nothing can spin."""
        if not (self._console.is_interactive and self._console.file.isatty()):  # FORCE_COLOR makes no terminal
            self.say(f"{what} ...")
            yield
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TextColumn("{task.elapsed:.0f} s"))
        with Progress(*columns, console=self._console, transient=True) as progress:
            progress.add_task(what)
            yield

    def heading(self, number: int, title: str, shows: str) -> None:
        self._console.print()
        self._console.print(Rule(Text(f"{number}. {title}", "bold"), align="left"))
        self.say(shows, "italic")

    def scene(self, seen: Seen, *, with_cost: bool) -> None:
        self._section("What the customer saw")
        for line in sorted((*seen.said, *seen.replies), key=lambda line: line.at):
            self._bubble(line, by_customer=line in seen.said)
        if seen.replies:
            first, last = (seen.replies[0].at - line.at for line in (seen.said[0], seen.said[-1]))
            since_first = f" ({first:.1f} s from the first)" if len(seen.said) > 1 else ""
            self.say(f"Waiting time: {last:.1f} s from the last message{since_first}.", "dim")
        self._section("What happened inside")
        self._console.print(_attempts(seen.attempts))
        self.say(f"{_count(len(seen.said), 'message')}, {_count(seen.turns, 'turn')}. {_how_it_ended(seen)}")
        if with_cost:
            self.say(f"Cost: ${sum(attempt.cost or 0.0 for attempt in seen.attempts):.4f} by the provider's count.")
        self._section("What the managers saw")
        for alert in seen.alerts:
            panel = Panel(Text(alert.text), title=f"Telegram {_clock(alert.at)}", title_align="left", expand=False)
            self._console.print(panel)
        if not seen.alerts:
            self.say("Nothing: there was nothing to tell.", "dim")

    def promise(self, broken: Sequence[str], seen: Seen) -> None:
        self._console.print()
        if not broken:
            replies, alerts = _count(len(seen.replies), "message"), _count(len(seen.alerts), "alert")
            self.say(f"✓ As promised: {replies} to the customer, {alerts} to the managers.", "green")
        for sentence in broken:
            self.say(f"✗ Not as promised: {sentence}.", "bold red")

    def ledger(self, sums: Sums) -> None:
        self._console.print()
        self._console.print(Rule(Text("The ledger", "bold"), align="left"))
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(justify="right")
        table.add_column()
        parts = [outcome.value for outcome in Outcome] + ["open"]
        table.add_row(str(sums.received), "received", style="bold")
        for sign, name in zip("=" + "+" * (len(parts) - 1), parts, strict=True):
            table.add_row(f"{sign} {getattr(sums, name)}", name.replace("_", " "))
        self._console.print(table)

    def _section(self, title: str) -> None:
        self._console.print()
        self.say(title, "bold cyan")

    def _bubble(self, line: Line, *, by_customer: bool) -> None:
        who, side, colour = ("customer", "left", "none") if by_customer else ("shop", "right", "green")
        panel = Panel(
            Text(line.text), title=f"{who} {_clock(line.at)}", title_align="left", expand=False, border_style=colour
        )
        bubble: RenderableType = Constrain(panel, self._console.width * 2 // 3)
        self._console.print(Align.left(bubble) if side == "left" else Align.right(bubble))


def _attempts(attempts: Sequence[Attempt]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    for title in ("step", "asked", "came back"):
        table.add_column(title)
    for title in ("prompt", "completion", "thoughts"):
        table.add_column(title, justify="right")
    for _, group in groupby(attempts, key=lambda a: (a.rung, a.model_asked, a.verdict, a.rule)):
        same = list(group)
        first, last = same[0].step + 1, same[-1].step + 1
        table.add_row(
            str(first) if first == last else f"{first}-{last}",
            f"{_RUNGS.get(same[0].rung, same[0].rung)}\n{same[0].model_asked.rpartition('/')[2]}",
            _came_back(same),
            *(str(sum(getattr(a, f"{kind}_tokens") for a in same)) for kind in ("prompt", "completion", "reasoning")),
        )
    return Padding(table, (0, 0, 0, 2), expand=False)


def _came_back(same: Sequence[Attempt]) -> str:
    attempt = same[-1]
    if attempt.verdict == "tool_step":
        return _count(sum(a.tool_calls for a in same), "tool call")
    if attempt.verdict == "success":
        return "a reply, all checks passed" + ("\n(tools were forbidden)" if attempt.tool_choice == "none" else "")
    words = _CAME_BACK.get(attempt.rule, "the call failed" if attempt.verdict == "call_failed" else "not fit to send")
    return f"{words}\n({attempt.rule})"


def _how_it_ended(seen: Seen) -> str:
    if not seen.attempts:
        return "No model was asked."
    if not seen.rescued_by:
        return "Nothing rescued it: the fixed line went out, a person takes over."
    if seen.forced:
        return "The forced last step gave the answer."
    if len(seen.rungs) > 1:
        return f"Rescued by the rung “{_RUNGS.get(seen.rescued_by, seen.rescued_by)}”."
    return "Answered at the first go."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _clock(at: float) -> str:
    return local(round(at * 1000), TIMEZONE).strftime("%H:%M:%S")
