"""What comes next for a plan that does not simply go on."""

from dataclasses import dataclass

from bot.outcome import Deferral, Outcome
from store.accounts.parking import LOOK_AGAIN_SECONDS

PARKED = "parked"  # what a conversation is held for, whose account rests


@dataclass(frozen=True, slots=True)
class Wait:
    """Come again in `seconds`: held for `deferral`, and `reason` is what the turn's result says.

    `warns`: the managers are told should the messaging window close meanwhile.
    """

    seconds: float
    deferral: Deferral | str
    reason: str
    warns: bool = False
    drops_plan: bool = False


@dataclass(frozen=True, slots=True)
class Close:
    """The rest of the plan is not sent: `outcome`, unless a part has arrived. Managers are told of `rule` or `why`."""

    outcome: Outcome
    why: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class SayHandover:
    """These words will not arrive, or may have: a fixed line tells the customer that a human takes over."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """A doubt is settled and written down: the plan goes on from there."""


@dataclass(frozen=True, slots=True)
class Finish:
    """All that could be said has arrived."""


@dataclass(frozen=True, slots=True)
class BeginAnew:
    """What the plan was made from was changed or taken back: what is left gets a turn of its own."""


@dataclass(frozen=True, slots=True)
class LeaveToPeople:
    """A human has written before anything arrived."""


NextStep = Wait | Close | SayHandover | ReadAgain | Finish | BeginAnew | LeaveToPeople


def wait_parked(seconds_left: float, reason: str) -> Wait:
    """Until the account's rest may be over, or is worth another look."""
    return Wait(min(seconds_left, LOOK_AGAIN_SECONDS) + 0.5, PARKED, reason, warns=True)
