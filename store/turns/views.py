"""A view of a conversation, as view.lua makes it, as values: what is damaged or of another version is read as far as
it can be, so that its customer is told something.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import orjson

from bot.conversation import Conversation, HistoryLine, OpenMessage, failed_turns, in_order
from bot.errors import NightshiftError
from bot.incoming.events import Channel, Contact, Media, MediaKind, conversation_id
from bot.limits import DAY_MS, read_limited, read_turn
from runtime.logging import get_logger
from store.accounts.parking import parked_for
from store.turns.plans import read_plan

log = get_logger(__name__)

_MEDIA_KINDS = frozenset(MediaKind)
_CHANNELS = frozenset(Channel)
# Whatever parsing may raise of values that are not what they were written as.
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)


class ConversationUnreadable(NightshiftError):
    """It is not known whose conversation this is, so no customer can be told anything."""


@dataclass(frozen=True, slots=True)
class Whose:
    """Account and customer as they are stored: the channel may be one that this version does not know."""

    channel: str
    account_id: str
    customer_id: str

    @property
    def is_known(self) -> bool:
        return self.channel in _CHANNELS


@dataclass(frozen=True, slots=True)
class View:
    """What a claim gave; nothing of it is parsed before it is asked for."""

    conversation_id: str
    answer: Sequence[Any]
    fields: Mapping[str, str]
    marks: Mapping[tuple[str, str], str]  # of the token of each account (channel, id) of this process

    @property
    def account(self) -> tuple[str, str]:
        """Channel and id."""
        return self.fields.get("channel", ""), self.fields.get("account", "")

    @property
    def failed_turns(self) -> int:
        return failed_turns(self.failures, as_int(self.fields.get("vanished")))

    @property
    def failures(self) -> int:
        return as_int(self.fields.get("failures"))

    @property
    def vanished(self) -> int:
        return as_int(self.fields.get("vanished"))

    @property
    def revised(self) -> str:
        return self.fields.get("revised", "0")

    def whose(self) -> Whose:
        """Raise `ConversationUnreadable`."""
        channel, account, customer = (self.fields.get(name, "") for name in ("channel", "account", "customer"))
        # Its name is made of the three: a damaged one must not send a customer's words to another.
        if conversation_id(channel, account, customer) != self.conversation_id:
            raise ConversationUnreadable("its account or customer is not what it was")
        return Whose(channel, account, customer)

    def read(self) -> Conversation:
        """Raise `ConversationUnreadable`, also for a channel of a newer version."""
        whose, fields = self.whose(), self.fields
        if not whose.is_known:
            raise ConversationUnreadable(f"a channel of another version: {whose.channel[:20]}")
        _, now, _, inbox, plan, history, parked, parked_ms, turns = self.answer
        why_parked, now_ms = parked_for(str(parked), self.marks.get(self.account, "")), int(now)
        return Conversation(
            id=self.conversation_id,
            contact=Contact(Channel(whose.channel), whose.account_id, whose.customer_id),
            rev=fields.get("rev", ""),
            messages=in_order([message for entry in inbox if (message := _message(entry, now_ms))]),
            history=tuple(line for entry in history if (line := _line(entry))),
            plan=read_plan(_pairs(plan)),
            now_ms=now_ms,
            stage=fields.get("stage", ""),
            failures=self.failures,
            vanished=self.vanished,
            disclosed=fields.get("disclosed") == "1",
            opted_out=fields.get("opted_out") == "1",
            takeover_until_ms=as_int(fields.get("takeover_until")),
            acted_at_ms=as_int(fields.get("acted_at")),
            window_told_ms=as_int(fields.get("window_told")),
            scratchpad=fields.get("notebook", ""),
            parked=why_parked,
            parked_ms=int(parked_ms) if why_parked else 0,
            revised=self.revised,
            turns=tuple(turn for record in turns if (turn := read_turn(record)) is not None),
            spent_today=_spent_today(fields, now_ms),
            limited=read_limited(fields.get("limited", "")),
        )


def view_of(cid: str, answer: Sequence[Any], marks: Mapping[tuple[str, str], str]) -> View:
    return View(cid, answer, {name: _writable(value) for name, value in _pairs(answer[2]).items()}, marks)


def _spent_today(fields: Mapping[str, str], now_ms: int) -> float:
    if fields.get("spent_day") != str(now_ms // DAY_MS):
        return 0.0
    try:
        spent = float(fields.get("spent", 0))
    except ValueError:
        return 0.0
    return spent if isfinite(spent) else 0.0


def _writable(value: str) -> str:
    """Bytes that are no text come in as they are (store/server/multiplexed.py) and could not be sent back."""
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def as_int(value: str | None) -> int:
    """0 for what is no number."""
    try:
        return int(value or 0)
    except ValueError:
        return 0


def _message(entry: str, now_ms: int) -> OpenMessage | None:
    """None only for a line that names no message; the claim has made sure that there is none."""
    words = entry.split(" ", 3)
    if len(words) < 4:
        return None
    _, received, key, body = words
    received_ms = min(as_int(received), now_ms)  # later, where the server's clock has gone back since
    try:
        return _whole_message(key, received_ms, orjson.loads(body))
    except DAMAGE as exc:
        log.error("message_lost", key=key, error=type(exc).__name__)
        return _lost_message(key, received_ms)


def _whole_message(key: str, received_ms: int, data: Mapping[str, Any]) -> OpenMessage:
    if data.get("lost"):
        return _lost_message(key, received_ms)
    text, notes = data.get("text", ""), data.get("notes") or ()
    if not isinstance(text, str) or not all(isinstance(note, str) for note in notes):
        raise TypeError("words that are not text")
    return OpenMessage(
        key=key,
        mid=str(data["mid"]),
        at_ms=int(data["at"]),
        received_ms=received_ms,
        text=text,
        notes=tuple(notes),
        needs_text=bool(data.get("needs_text")),
        media=tuple(
            Media(MediaKind(kind), str(url), int(note))
            for kind, url, note in data.get("media") or ()
            if kind in _MEDIA_KINDS
        ),
        edits=int(data.get("edits", 0)),
        is_gone=bool(data.get("gone")),
    )


def _lost_message(key: str, received_ms: int) -> OpenMessage:
    return OpenMessage(key, "", received_ms, received_ms, notes=("[message that cannot be read]",), is_lost=True)


def _line(entry: str) -> HistoryLine | None:
    try:
        data = orjson.loads(entry)
        return HistoryLine(str(data["role"]), str(data["text"]), int(data["at"]), str(data.get("key", "")))
    except DAMAGE as exc:
        log.error("history_line_lost", error=type(exc).__name__)
        return None


def kept_line(line: HistoryLine) -> tuple[str, str]:
    """Whose it is, as finish.lua wants to know it, and what is kept."""
    kept: dict[str, Any] = {"role": line.role, "text": line.text, "at": line.at_ms}
    if line.key:
        kept["key"] = line.key
    if line.notes:
        kept["notes"] = line.notes
    if line.edits:
        kept["edits"] = line.edits
    whose = "c" if line.role == "customer" else "" if line.part is None else str(line.part)
    return whose, orjson.dumps(kept).decode()


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
