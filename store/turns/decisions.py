"""What the store answers when a turn asks whether it may: claim, plan, send a part. Each question has one closed union.

Every member says who goes on with what; callers match them and close the match with `assert_never`.
"""

from dataclasses import dataclass
from enum import StrEnum

from bot.conversation import Conversation, PartState, Plan
from store.accounts.pacing import NoSlot, Slot
from store.accounts.parking import Parked


class ClaimRefusal(StrEnum):
    """As claim.lua words them."""

    NOT_HANDED_OUT = "not_handed_out"  # the dispatcher has not handed it out, or another poke came first
    LEASED = "leased"  # another worker is at it
    NOTHING = "nothing"  # nothing is open any more


@dataclass(frozen=True, slots=True)
class NotClaimed:
    reason: ClaimRefusal

    def __str__(self) -> str:
        return self.reason.value


@dataclass(frozen=True, slots=True)
class Planned:
    """`plan` stands, and `conversation` is as it is now."""

    conversation: Conversation
    plan: Plan


@dataclass(frozen=True, slots=True)
class NewsCame:
    """Nothing was written: the customer has written, changed or taken back something that the turn has not read."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class AlreadyArrived:
    """Nothing was written: a part of the `plan` that stands has proved to be sent, so that one is finished."""

    conversation: Conversation
    plan: Plan


@dataclass(frozen=True, slots=True)
class AllTakenBack:
    """Nothing was written: no message that the plan would answer is open; `conversation` is as the caller gave it."""

    conversation: Conversation


PlanAnswer = Planned | NewsCame | AlreadyArrived | AllTakenBack


@dataclass(frozen=True, slots=True)
class MaySend:
    """The part is written down as being sent: make the call."""


@dataclass(frozen=True, slots=True)
class LeaseTooShort:
    """A call could outlive the lease: renew it and ask again."""


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """Too few replicas know of it, and a failover would have the part sent once more. The part is as it was before."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """What the plan was made from was changed or taken back: it is not to be said."""


@dataclass(frozen=True, slots=True)
class AlreadyIn:
    """The part's own `state` forbids it: sent, in doubt, or dropped since a human has written."""

    state: PartState


SendRefusal = NoSlot | Parked | Unconfirmed | Overtaken | AlreadyIn
SendAnswer = MaySend | Slot | LeaseTooShort | SendRefusal
