"""The states of a conversation and of a part of its plan, and every way from one to another.

What does it is a script of `store/lua`, or for the script that stores events the event ("message", "late echo": one
that was read back). A test holds both tables against what scripts do: to the letter, in both directions.

Two ways are not in it, since Redis goes them by itself: a conversation at rest is forgotten 180 days after its last
word, and whatever stands still stays as it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from bot.conversation import PartState

NONE: Final = "none"
"""Nothing is known of this customer; of a part: it is not planned yet."""

GONE: Final = "gone"
"""The plan is no more, and the part with it."""

STATES: Final = {
    "gathering": "a burst is open: its turn begins when the customer has been quiet, or has waited for long enough",
    "held": "it waits until a time, for a reason: people, a backoff, a send to be settled, an account that rests",
    "leased": "a turn runs, and its worker alone decides, until the lease runs out",
    "rest": "no message is open",
}
"""Of a conversation: the field `state`."""

PART_STATES: Final[dict[str, str]] = {
    PartState.PLANNED: "to be sent",
    PartState.SENDING: "written down right before the call: it may be on its way",
    PartState.SENT: "it has arrived: Meta gave its id, or an echo or the conversation read back proves it",
    PartState.FAILED: "it has not arrived; it may be tried again",
    PartState.UNKNOWN: "it may have arrived or not: it is looked for, and never sent again on a guess",
    PartState.DROPPED: "it will not be sent: people have written, or what it answers was taken back",
}


@dataclass(frozen=True, slots=True)
class Transition:
    """From each of `before`, by each of `by`, to `after`; `when` says under which condition."""

    before: tuple[str, ...]
    by: tuple[str, ...]
    after: str
    when: str

    def changes(self) -> Iterator[tuple[str, str, str]]:
        for before in self.before:
            for by in self.by:
                yield before, by, self.after


def _row(before: str, by: str, after: str, when: str) -> Transition:
    return Transition(tuple(before.split(", ")), tuple(by.split(", ")), after, when)


def changes_of(rows: Iterable[Transition]) -> set[tuple[str, str, str]]:
    """Every single one: state before, script or event, state after."""
    return {change for row in rows for change in row.changes()}


CONVERSATION: Final = (
    _row("none", "message", "gathering", "the first words of a customer"),
    _row("none", "message", "rest", "no answer is due to them: heard on standby, a test event"),
    _row("none", "echo, late echo, edit, deletion, thread control", "rest", "something else comes before their words"),
    _row("none", "settle_comment", "rest", "a comment of theirs was answered privately"),
    _row("rest", "message", "gathering", "an answer is due, and people do not have the conversation"),
    _row("rest", "message", "held", "people have it: until the end of their takeover"),
    _row("gathering, held", "claim", "leased", "it is due, was handed out, and a worker takes it"),
    _row("leased", "claim", "leased", "the lease has run out: its worker has vanished, and another one takes it"),
    _row("held, leased", "claim", "rest", "every message was taken back, and nothing of the reply has arrived"),
    _row("gathering, leased", "echo, late echo, thread control", "held", "people take it; nothing can have arrived"),
    _row("held", "echo, late echo", "rest", "it waited for people, and these are their words"),
    _row("leased", "late echo", "rest", "people had answered before the turn began, as is read back now"),
    _row("gathering, held", "deletion", "rest", "the only open message was taken back"),
    _row("leased", "finish", "rest", "every message has its outcome"),
    _row("leased", "finish", "gathering", "newer messages are open"),
    _row("leased", "finish", "held", "newer messages are open, and people have the conversation"),
    _row("leased", "hold", "held", "the worker comes again: a deferral, a backoff, a send to be settled, a deploy"),
    _row("leased", "hold_for_account", "held", "this worker does not have the account, another one may"),
    _row("leased", "abandon", "rest", "no turn comes to its end: it ends by its keys alone, and managers are told"),
)

PART: Final = (
    _row("none", "plan", "planned", "the reply is written down"),
    _row("planned, failed", "begin_part", "sending", "the lease is live, and people have not written"),
    _row("planned, failed", "begin_part", "dropped", "what it answers was taken back, or people have written"),
    _row(
        "planned, failed", "echo, late echo, thread control", "dropped", "people take it; another part may have arrived"
    ),
    _row("dropped", "record_part", "planned", "the people's words prove to be ours, changed by Meta on the way"),
    _row("sending", "take_back_part", "planned", "too few replicas know of it, so that no call was made"),
    _row("sending", "take_back_part", "failed", "the same, of a part that was tried before"),
    _row("sending", "claim", "unknown", "its worker is gone"),
    _row("sending", "record_part", "sent", "Meta gave its id"),
    _row("sending", "record_part", "failed", "Meta has refused it, or it never left"),
    _row("sending", "record_part", "unknown", "the answer was lost"),
    _row("unknown", "record_part", "sent", "it is found in the conversation"),
    _row("unknown", "record_part", "failed", "it is not found there, twice"),
    _row("sending, unknown", "echo, late echo", "sent", "its echo proves it"),
    _row("failed", "echo, late echo", "sent", "its echo comes after it was looked for in vain"),
    _row("planned, failed, dropped", "record_part", "sent", "the answer of an earlier call comes late"),
    _row("planned, dropped", "record_part", "failed", "the same"),
    _row("planned, failed, dropped", "record_part", "unknown", "the same"),
    _row("planned, sending, sent, failed, unknown, dropped", "finish, abandon", "gone", "the turn ends"),
    _row("planned, sending, sent, failed, unknown, dropped", "hold", "gone", "the turn waits, and will think anew"),
    _row("planned, sending, failed, unknown, dropped", "plan", "gone", "another reply takes its place"),
    _row("planned, failed, dropped", "edit, deletion", "gone", "its words were changed or taken back; nothing arrived"),
    _row("planned, failed, dropped", "begin_part, claim", "gone", "the same, once it is known that nothing arrived"),
    _row("planned, failed, dropped", "echo, late echo, thread control", "gone", "people take it, and nothing arrived"),
)
