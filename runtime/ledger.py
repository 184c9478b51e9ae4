"""The books: every message received is open or has exactly one outcome, and the sums prove it."""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

from bot.messages import MessageKind
from bot.outcome import Outcome
from runtime.hashing import key_of
from runtime.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Sums:
    """For all time kept. `balanced`: received = the five outcomes + open."""

    received: int
    answered: int
    handed_over: int
    silenced: int
    undeliverable: int
    expired: int
    open: int
    balanced: bool
    oldest_open_seconds: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the ledger: what happened to a message (or to its conversation) and why."""

    at_ms: int
    conversation_id: str
    key: str
    event: str
    why: str


class Ledger:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def sums(self) -> Sums:
        now, flat, open_count, oldest, _ = await self._scripts.run("sums", 1)
        counts = {name: int(n) for name, n in zip(flat[::2], flat[1::2], strict=True)}
        outcomes = {outcome.value: counts.get(outcome.value, 0) for outcome in Outcome}
        received = counts.get("received", 0)
        age = (float(now) - float(oldest[1])) / 1000 if oldest else 0.0
        return Sums(
            received=received,
            **outcomes,
            open=int(open_count),
            balanced=received == sum(outcomes.values()) + int(open_count),
            oldest_open_seconds=round(max(age, 0.0), 1),
        )

    async def why(self, mid: str) -> list[Step]:
        """The steps of one message, oldest first, and those of its conversation until it had its outcome."""
        keys = {key_of(kind.value, mid) for kind in MessageKind}
        found: list[Step] = []
        conversation = ""
        closed = False
        async for step in self.steps():
            if step.key in keys:
                conversation = step.conversation_id
                found.append(step)
                closed = closed or step.event in set(Outcome)
            elif conversation == step.conversation_id and not step.key and not closed:
                found.append(step)
        return found

    async def steps(self, page: int = 2000) -> AsyncIterator[Step]:
        """All steps kept, oldest first, read in pages so that a running system does not notice."""
        start = "-"
        while True:
            rows = await self._scripts.command("XRANGE", "ns:ledger", start, "+", "COUNT", page)
            for row_id, flat in rows:
                fields = dict(zip(flat[::2], flat[1::2], strict=True)) if isinstance(flat, list) else flat
                yield Step(int(row_id.split("-")[0]), fields["c"], fields["m"], fields["e"], fields["w"])
            if len(rows) < page:
                return
            start = f"({rows[-1][0]}"
