"""The books: every message received is open or has exactly one outcome, and the sums prove it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from redis.exceptions import RedisError

from bot.incoming.events import MessageKind
from bot.outcome import Outcome
from store.connection import store_error
from store.hashing import key_of
from store.keys import DUE, LEDGER, OPEN, conversation_key
from store.scripts import Scripts

_DAY_MS = 86_400_000
_OPEN_PAGE = 200
_STEPS_PAGE = 2000


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

    @property
    def difference(self) -> int:
        """Messages that were received and are nowhere; negative: outcomes of messages that were never received."""
        return self.received - self.open - sum(int(getattr(self, outcome.value)) for outcome in Outcome)


@dataclass(frozen=True, slots=True)
class DaySums:
    """One account on one day (UTC). An outcome counts on the day it was reached, so a day alone need not balance."""

    day: date
    channel: str
    account: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the ledger: what happened to a message (or to its conversation) and why."""

    at_ms: int
    conversation_id: str
    key: str
    event: str
    why: str


@dataclass(frozen=True, slots=True)
class OpenMessage:
    """`next_at_ms`: when its conversation is looked at again. `deferred_until_ms`: 0 when it never waited by design."""

    conversation_id: str
    key: str
    waited_seconds: float
    state: str
    hold_reason: str
    next_at_ms: int
    deferred_until_ms: int


class Ledger:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def sums(self) -> Sums:
        sums, _ = await self.sums_and_days(0)
        return sums

    async def sums_and_days(self, days: int) -> tuple[Sums, list[DaySums]]:
        """The total, and the last `days` days with something in them, the newest first; all of one moment."""
        today = int(await self._now_ms()) // _DAY_MS if days else 0
        wanted = [today - back for back in range(days)]
        now, flat, open_count, oldest, _, *found = await self._scripts.run("sums", 1, *wanted)
        counts = _counts(flat)
        outcomes = {outcome.value: counts.get(outcome.value, 0) for outcome in Outcome}
        received = counts.get("received", 0)
        age = (float(now) - float(oldest[1])) / 1000 if oldest else 0.0
        sums = Sums(
            received=received,
            **outcomes,
            open=int(open_count),
            balanced=received == sum(outcomes.values()) + int(open_count),
            oldest_open_seconds=round(max(age, 0.0), 1),
        )
        return sums, [row for day, flat_day in zip(wanted, found, strict=True) for row in _day_rows(day, flat_day)]

    async def open_messages(self) -> AsyncIterator[OpenMessage]:
        """The oldest first, in pages: what is closed meanwhile may be missed, what is open all the time is not."""
        offset = 0
        while True:
            now = await self._now_ms()
            rows = await self._scripts.command("ZRANGE", OPEN, offset, offset + _OPEN_PAGE - 1, "WITHSCORES")
            page = _scored(rows)
            for message in await self._explained(page, now):
                yield message
            if len(page) < _OPEN_PAGE:
                return
            offset += _OPEN_PAGE

    async def why(self, mid: str) -> list[Step]:
        """The steps of one message, oldest first, and those of its conversation until it had its outcome.

        `mid` may be a conversation's hash, too: then all that is kept of it.
        """
        keys = {key_of(kind, mid) for kind in (*(k.value for k in MessageKind), "echo", "deletion")}
        found: list[Step] = []
        conversation = ""
        closed = False
        async for step in self.steps():
            if step.conversation_id == mid:
                found.append(step)
            elif step.key in keys:
                conversation = step.conversation_id
                found.append(step)
                closed = closed or step.event in set(Outcome)
            elif conversation and conversation == step.conversation_id and not step.key and not closed:
                found.append(step)
        return found

    async def steps(self, page: int = _STEPS_PAGE) -> AsyncIterator[Step]:
        """All steps kept, oldest first, read in pages so that a running system does not notice."""
        start = "-"
        while True:
            rows = await self._scripts.command("XRANGE", LEDGER, start, "+", "COUNT", page)
            for row_id, flat in rows:
                fields = dict(zip(flat[::2], flat[1::2], strict=True)) if isinstance(flat, list) else flat
                yield Step(int(row_id.split("-")[0]), fields["c"], fields["m"], fields["e"], fields["w"])
            if len(rows) < page:
                return
            start = f"({rows[-1][0]}"

    async def _now_ms(self) -> int:
        return await self._scripts.ask_time()

    async def _explained(self, page: Sequence[tuple[str, float]], now_ms: int) -> list[OpenMessage]:
        """One round trip tells how each conversation of the page stands."""
        ids = list(dict.fromkeys(member.split(" ")[0] for member, _ in page))
        pipeline = self._scripts.client.pipeline(transaction=False)
        for cid in ids:
            pipeline.hmget(conversation_key(cid), ["state", "hold_reason", "deferred_until"])
            pipeline.zscore(DUE, cid)
        try:
            answers = await pipeline.execute()
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc
        stands = {cid: (*answers[2 * i], answers[2 * i + 1]) for i, cid in enumerate(ids)}
        messages = []
        for member, received in page:
            cid, key = member.split(" ")
            state, reason, deferred, due = stands[cid]
            waited = round(max(now_ms - received, 0.0) / 1000, 1)
            messages.append(
                OpenMessage(cid, key, waited, state or "", reason or "", int(due or 0), int(float(deferred or 0)))
            )
        return messages


def _counts(flat: Sequence[str]) -> dict[str, int]:
    return {name: int(n) for name, n in zip(flat[::2], flat[1::2], strict=True)}


def _day_rows(day: int, flat: Sequence[str]) -> list[DaySums]:
    accounts: dict[tuple[str, str], dict[str, int]] = {}
    for field, n in _counts(flat).items():
        channel, account, what = field.split(" ", 2)
        accounts.setdefault((channel, account), {})[what] = n
    when = datetime.fromtimestamp(day * _DAY_MS / 1000, UTC).date()
    return [DaySums(when, channel, account, accounts[channel, account]) for channel, account in sorted(accounts)]


def _scored(rows: Sequence[Any]) -> list[tuple[str, float]]:
    """RESP2 answers flat, RESP3 in pairs."""
    if rows and isinstance(rows[0], list | tuple):
        return [(str(member), float(score)) for member, score in rows]
    return [(str(member), float(score)) for member, score in zip(rows[::2], rows[1::2], strict=True)]
