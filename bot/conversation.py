"""What a turn knows of its conversation: the messages to answer, what was said before, and what is being said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from bot.incoming.events import Contact, Media
from bot.limits import Limited, PastTurn

if TYPE_CHECKING:
    from bot.reply.rich_content import Link
NO_WORDS = "[message without text]"
"""Stands where a message has no words that the model could read."""


@dataclass(frozen=True, slots=True)
class OpenMessage:
    """A customer's message that has no outcome yet; `key` is its short name in Redis and in the ledger."""

    key: str
    mid: str
    at_ms: int
    received_ms: int
    text: str = ""
    notes: tuple[str, ...] = ()
    needs_text: bool = False
    media: tuple[Media, ...] = field(default=(), repr=False)
    edits: int = 0  # how often the customer has changed it
    is_lost: bool = False  # its words cannot be read any more: a human has to look
    is_gone: bool = False  # the customer took it back when its reply was on the way

    @property
    def for_model(self) -> str:
        """The customer's words with a context line for each thing that is not text; never blank."""
        return "\n".join([*self.notes, self.text] if self.text.strip() else self.notes) or NO_WORDS


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One finished line of the conversation: `role` is customer, bot or business (a human of ours).

    `key` is its message's (of what our side sent, its echo's), so that an edit or a deletion finds the line; `notes`
    are those of its lines that an edit leaves. A line that an older version wrote has neither. `part` names the part of
    the plan whose message id is not known yet when the line is written.
    """

    role: str
    text: str
    at_ms: int
    key: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    edits: int = field(default=0, compare=False)
    part: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, message: OpenMessage) -> "HistoryLine":
        return cls("customer", message.for_model, message.at_ms, message.key, message.notes, message.edits)


# A turn that vanished with its worker says nothing about its conversation: deploys and full memories take many innocent
# ones along. After so many it runs alone, and what vanishes then has done it itself.
VANISHED_BEFORE_ALONE = 10


def failed_turns(failures: int, vanished: int) -> int:
    """Turns that ended in an exception, and those that have vanished while nothing else ran beside them."""
    return failures + max(vanished - VANISHED_BEFORE_ALONE, 0)


class PartState(StrEnum):
    PLANNED = "planned"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    DROPPED = "dropped"


MAY_HAVE_ARRIVED = frozenset({PartState.SENDING, PartState.SENT, PartState.UNKNOWN})
"""States of a part that the customer may have seen."""


class PartKind(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    FILE = "file"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What follows the words: a picture or file (`target` is its address), a reaction (`target` is the message's mid).

    `text` is what is sent in its place should Meta refuse a picture or file; of a reaction it is the emoji.
    """

    kind: PartKind
    text: str
    target: str


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a plan, or one of its enclosures.

    `words` stand on a button template of `links` in place of `text`, "" where there is none; `quick_replies` are
    titles to tap. `plain`: Meta has refused what is
    beside the text (quick replies, link buttons, the picture itself), so the text goes alone. While it is unknown,
    `misses` counts the looks that have not found it, `failed_looks` those for which Meta could not be asked.
    """

    index: int
    text: str
    state: PartState
    tries: int = 0
    sending_at_ms: int = 0
    code: str = ""
    misses: int = 0
    failed_looks: int = 0
    kind: PartKind = PartKind.TEXT
    target: str = ""
    words: str = ""
    links: "tuple[Link, ...]" = ()
    quick_replies: tuple[str, ...] = ()
    plain: bool = False


@dataclass(frozen=True, slots=True)
class PlanMeta:
    """What the finish of a plan must know, also when another worker finishes it."""

    outcome: str = "answered"
    why: str = ""
    stage: str = ""
    partial: bool = False
    rule: str = ""
    task: str = ""
    discloses: bool = False
    calls_human: bool = False
    opts_out: bool = False
    after_unknown: bool = False
    scratchpad: str = ""  # what the next turn may go on from; "" drops what there was
    quick_replies: tuple[str, ...] = ()  # titles to tap as an answer
    link_buttons: "tuple[Link, ...]" = ()  # they open a page


@dataclass(frozen=True, slots=True)
class Plan:
    """`parts` are the reply and decide the outcome; `enclosures` follow them and decide nothing.

    `failures` is how many turns had failed before it was written (server's time `made_at_ms`), `is_damaged` that it
    cannot be read as it was written: nothing more of it may be sent.
    """

    id: str
    keys: tuple[str, ...]
    parts: tuple[Part, ...]
    meta: PlanMeta = field(default_factory=PlanMeta)
    enclosures: tuple[Part, ...] = ()
    failures: int = 0
    made_at_ms: int = 0
    is_damaged: bool = False

    @property
    def something_arrived(self) -> bool:
        """True when the customer may have seen a part of it already."""
        return any(part.state in MAY_HAVE_ARRIVED for part in self.parts)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything a turn reads in one go. `rev` changes with every message, edit and deletion, `revised` with the last
    two alone: what was made from the old words is not to be sent then.

    `acted_at_ms` is the customer's last action of any kind by Meta's time (0: unknown), `window_told_ms` the one whose
    window's end the managers have been told of. `parked` says why the account rests ("": it does not), for `parked_ms`.
    `turns` are those of the last hour, `spent_today` US dollars of this UTC day, `limited` the limit that was reached
    last.
    """

    id: str
    contact: Contact
    rev: str
    messages: tuple[OpenMessage, ...]
    history: tuple[HistoryLine, ...]
    plan: Plan | None
    now_ms: int
    stage: str = ""
    failures: int = 0
    vanished: int = 0
    disclosed: bool = False
    opted_out: bool = False
    takeover_until_ms: int = 0
    acted_at_ms: int = 0
    window_told_ms: int = 0
    scratchpad: str = ""
    parked: str = ""
    parked_ms: int = 0
    revised: str = "0"
    turns: tuple[PastTurn, ...] = ()
    spent_today: float = 0.0
    limited: Limited | None = None

    @property
    def failed_turns(self) -> int:
        return failed_turns(self.failures, self.vanished)

    @property
    def oldest_received_ms(self) -> int:
        return min((m.received_ms for m in self.messages), default=self.now_ms)

    @property
    def newest_at_ms(self) -> int:
        """The newest open message by Meta's own time."""
        return max((m.at_ms for m in self.messages), default=self.now_ms)

    @property
    def last_action_at_ms(self) -> int:
        """The messaging window counts from here."""
        return self.acted_at_ms or self.newest_at_ms


def in_order(messages: Sequence[OpenMessage]) -> tuple[OpenMessage, ...]:
    """Meta does not promise order; within a burst its own timestamps decide."""
    return tuple(sorted(messages, key=lambda m: (m.at_ms, m.received_ms)))
