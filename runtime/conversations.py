"""The worker's side of Redis: claim a conversation, renew, plan, send part by part, finish or give back.

Decisions carry the claimer's token and raise `LeaseLost` when it is no longer theirs; facts never do.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from bot.conversation import (
    Conversation,
    Enclosure,
    HistoryLine,
    OpenMessage,
    PartState,
    PlanMeta,
    in_order,
)
from bot.errors import NightshiftError
from bot.limits import DAY_MS, read_limited, read_turn
from bot.messages import Channel, Contact, Media, MediaKind
from bot.outcome import Deferral, Outcome
from runtime.confirming import CONFIRM_SECONDS
from runtime.hashing import key_of, text_hash
from runtime.logging import get_logger
from runtime.pacing import Place
from runtime.parking import Parked, parked_for, token_mark
from runtime.plans import further_fields, read_plan
from runtime.scripts import Scripts
from runtime.settings import Settings

log = get_logger(__name__)

LEASE_SECONDS = 15.0
RENEW_SECONDS = 4.0
_MEDIA_KINDS = frozenset(MediaKind)
HISTORY_LINES = 60  # kept; what the model gets of it is the agent's choice


class LeaseLost(NightshiftError):
    """Somebody else decides for this conversation now: stop, touch nothing."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An alert raised in the same script that closes the messages; `id` is what makes two of them the same."""

    id: str
    body: Mapping[str, Any]


class Conversations:
    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        debounce = settings.config.debounce
        self._quiet = round(debounce.quiet_seconds * 1000)
        self._cap = round(debounce.max_wait_seconds * 1000)
        self._marks = {(a.channel.value, a.id): token_mark(a) for a in settings.config.accounts}

    async def claim(self, conversation_id: str) -> "tuple[Lease, Conversation] | str":
        """The lease and all that the turn needs; or the reason why there is nothing to do."""
        token = secrets.token_hex(8)
        answer = await self._scripts.run("claim", conversation_id, token, LEASE_SECONDS * 1000, HISTORY_LINES)
        if answer[0] != "claimed":
            return str(answer[0])
        self._scripts.clock.tells(int(answer[1]))
        mark = self._marks.get(_account_in(answer), "")
        lease = Lease(self._scripts, conversation_id, token, self._quiet, self._cap, mark)
        return lease, read(conversation_id, answer, mark)

    async def clock_ahead_ms(self) -> int:
        """By how much the server's clock may be ahead of the true time (runtime/clock_watch.py); most often 0."""
        return int(await self._scripts.command("GET", "ns:clock:ahead") or 0)

    async def customer_of(self, conversation_id: str) -> str:
        """The scoped id behind a conversation; "" when it is not kept any more."""
        return str(await self._scripts.command("HGET", f"ns:c:{conversation_id}", "customer") or "")

    async def knows_as_sent(self, conversation_id: str, mid: str) -> bool:
        """Is this message id in the books as sent from our side, by the bot or by a human?"""
        words = await self._scripts.run("known", conversation_id, "", "", key_of("echo", mid), "")
        return str(words[0]) != ""

    async def record(
        self, conversation_id: str, plan_id: str, part: int, state: PartState, *, mid: str = "", code: str = ""
    ) -> str:
        """A fact: it needs no lease, and a message id once known is never taken back.

        Where replicas are asked for, that a part is sent waits for them but does not depend on them: a failover that
        forgot it would find the part `sending`, and look whether it arrived.
        """
        key = key_of("echo", mid) if mid else ""
        values = (conversation_id, plan_id, part, state.value, key, code)
        if state is not PartState.SENT:
            return str(await self._scripts.run("record_part", *values))
        stands, doubt = await self._scripts.run_doubted("record_part", *values)
        if reason := await doubt:
            log.warning("fact_not_confirmed", conversation=conversation_id, part=part, reason=reason)
            await self._scripts.command("HINCRBY", "ns:events", "sent_unconfirmed", 1)
        return str(stands)


class Lease:
    """The right to decide for one conversation, until it runs out or somebody human takes over."""

    def __init__(
        self, scripts: Scripts, conversation_id: str, token: str, quiet_ms: int, cap_ms: int, mark: str
    ) -> None:
        self._scripts = scripts
        self.conversation_id = conversation_id
        self.token = token
        self.notebook = ""  # what was looked up so far: kept when the turn is given back unfinished
        self._quiet = quiet_ms
        self._cap = cap_ms
        self._mark = mark  # of the account's token, as runtime/parking.py has it

    async def renew(self) -> bool:
        return bool(await self._scripts.run("renew", self.conversation_id, self.token, LEASE_SECONDS * 1000))

    async def reread(self) -> Conversation:
        answer = await self._scripts.run("reread", self.conversation_id, self.token, HISTORY_LINES)
        if answer[0] == "lost":
            raise LeaseLost("reread")
        return read(self.conversation_id, answer, self._mark)

    async def plan(
        self,
        conversation: Conversation,
        texts: Sequence[str],
        meta: PlanMeta,
        *,
        enclosures: Sequence[Enclosure] = (),
        whatever_came: bool = False,
    ) -> tuple[str, Conversation]:
        """Write the plan, and read the conversation as it is then: "planned", "newer" when messages came that the turn
        has not read, "nothing" when all were taken back.
        """
        keys = [message.key for message in conversation.messages]
        parts = [value for text in texts for value in (text, text_hash(text))]
        answer = await self._scripts.run(
            "plan",
            self.conversation_id,
            self.token,
            conversation.rev,
            "1" if whatever_came else "",
            secrets.token_hex(6),
            orjson.dumps(asdict(meta)).decode(),
            HISTORY_LINES,
            len(keys),
            *keys,
            len(texts),
            *parts,
            *further_fields(texts, meta, enclosures),
        )
        match str(answer[0]):
            case "lost":
                raise LeaseLost("plan")
            case "nothing":
                return "nothing", conversation
            case word:
                return word, read(self.conversation_id, answer, self._mark)

    async def begin_part(
        self,
        plan_id: str,
        part: int,
        *,
        margin_seconds: float,
        line: tuple[str, int, int] | None = None,
        patience_seconds: float = 0,
    ) -> str | Place | Parked:
        """ "sending" when the call may be made now; else the state that forbids it ("late": renew first).

        With a `line` of `runtime.pacing` it takes a place there first: where that is not right at the front, the place
        comes back, and once its time has come this is asked again without a line.

        "unconfirmed": too few replicas know of it, and a failover would have the part sent once more. It is as before.
        """
        if self._scripts.replicas:
            margin_seconds += 2 * CONFIRM_SECONDS
        margin, patience = round(margin_seconds * 1000), round(patience_seconds * 1000)
        place = (*line, patience, self._mark) if line else ()
        answer, doubt = await self._scripts.run_doubted(
            "begin_part", self.conversation_id, self.token, plan_id, part, margin, *place
        )
        if answer == [PartState.SENDING] and (reason := await doubt):
            log.warning("send_not_confirmed", conversation=self.conversation_id, part=part, reason=reason)
            if not await self._scripts.run("take_back_part", self.conversation_id, self.token, plan_id, part):
                raise LeaseLost("take_back_part")
            return "unconfirmed"
        match answer:
            case ["lost"]:
                raise LeaseLost("begin_part")
            case ["parked", why, left]:
                return Parked(str(why), int(left) / 1000)
            case ["line", wait, taken]:
                return Place(int(wait) / 1_000_000, bool(int(taken)))
            case [word]:
                return str(word)
            case _:
                raise AssertionError(f"begin_part.lua answers otherwise: {answer!r}")

    async def finish(
        self,
        outcome: Outcome,
        keys: Sequence[str],
        *,
        why: str = "",
        lines: Sequence[HistoryLine] = (),
        fields: Mapping[str, str] | None = None,
        incident: Incident | None = None,
        takeover_seconds: float = 0,
    ) -> None:
        """Close the messages, write history and alert, release the lease: all or nothing."""
        answer = await self._scripts.run(
            "finish",
            self.conversation_id,
            self.token,
            outcome.value,
            why,
            self._quiet,
            self._cap,
            round(takeover_seconds * 1000),
            HISTORY_LINES,
            orjson.dumps(dict(fields or {})).decode(),
            incident.id if incident else "",
            orjson.dumps(dict(incident.body)).decode() if incident else "",
            len(keys),
            *keys,
            *(orjson.dumps({"role": line.role, "text": line.text, "at": line.at_ms}).decode() for line in lines),
        )
        if answer == "lost":
            raise LeaseLost("finish")

    async def hold(
        self,
        seconds: float,
        reason: Deferral | str,
        *,
        failed: bool = False,
        drop_plan: bool = False,
        window_closing: Incident | None = None,
    ) -> int:
        """Give the lease back and come again in `seconds`, earlier when the messaging window nears its end.

        `window_closing` tells the managers of just that, once for each window. Returns how many turns have ended in
        an exception so far.
        """
        answer = await self._scripts.run(
            "hold",
            self.conversation_id,
            self.token,
            round(seconds * 1000),
            str(reason),
            "1" if failed else "",
            "1" if drop_plan else "",
            window_closing.id if window_closing else "",
            orjson.dumps(dict(window_closing.body)).decode() if window_closing else "",
            self.notebook,
            str(window_closing.body.get("acted_at", "")) if window_closing else "",
        )
        if int(answer) < 0:
            raise LeaseLost("hold")
        return int(answer)


def read(conversation_id: str, answer: Sequence[Any], mark: str) -> Conversation:
    """A view, as common.lua makes it, as values; `mark` is that of the token of who asks."""
    _, now, flat, inbox, plan, history, parked, parked_ms, turns = answer
    why_parked = parked_for(str(parked), mark)
    fields = _pairs(flat)
    return Conversation(
        id=conversation_id,
        contact=Contact(Channel(fields["channel"]), fields["account"], fields["customer"]),
        rev=fields.get("rev", ""),
        messages=in_order([_message(entry, int(now)) for entry in inbox]),
        history=tuple(_line(entry) for entry in history),
        plan=read_plan(_pairs(plan)),
        now_ms=int(now),
        stage=fields.get("stage", ""),
        failures=int(fields.get("failures", 0)),
        vanished=int(fields.get("vanished", 0)),
        disclosed=fields.get("disclosed") == "1",
        opted_out=fields.get("opted_out") == "1",
        takeover_until_ms=int(fields.get("takeover_until", 0)),
        acted_at_ms=int(fields.get("acted_at", 0)),
        window_told_ms=int(fields.get("window_told") or 0),
        notebook=fields.get("notebook", ""),
        parked=why_parked,
        parked_ms=int(parked_ms) if why_parked else 0,
        turns=tuple(turn for record in turns if (turn := read_turn(record)) is not None),
        spent_today=_spent_today(fields, int(now)),
        limited=read_limited(fields.get("limited", "")),
    )


def _spent_today(fields: Mapping[str, str], now_ms: int) -> float:
    return float(fields.get("spent", 0)) if fields.get("spent_day") == str(now_ms // DAY_MS) else 0.0


def _account_in(answer: Sequence[Any]) -> tuple[str, str]:
    fields = _pairs(answer[2])
    return fields.get("channel", ""), fields.get("account", "")


def _message(entry: str, now_ms: int) -> OpenMessage:
    _, received, key, body = entry.split(" ", 3)
    data = orjson.loads(body)
    return OpenMessage(
        key=key,
        mid=data["mid"],
        at_ms=int(data["at"]),
        received_ms=min(int(received), now_ms),  # later, where the server's clock has gone back since
        text=data.get("text", ""),
        notes=tuple(data.get("notes") or ()),
        needs_text=bool(data.get("needs_text")),
        media=tuple(
            Media(MediaKind(kind), url, note) for kind, url, note in data.get("media") or () if kind in _MEDIA_KINDS
        ),
    )


def _line(entry: str) -> HistoryLine:
    data = orjson.loads(entry)
    return HistoryLine(role=data["role"], text=data["text"], at_ms=int(data["at"]))


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
