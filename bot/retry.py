"""What after a failed send? The only planner of retries: clients do not retry, or waits multiply."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

BACKOFF_SECONDS = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0)
THROTTLE_SECONDS = (30.0, 60.0, 300.0, 900.0)
OPERATOR_SECONDS = 300.0
RESTRICTED_SECONDS = 3600.0


class Failure(StrEnum):
    """Why a reply did not go out, as far as the next move depends on it."""

    TRANSIENT = "transient"
    THROTTLED = "throttled"
    TOKEN = "token"  # noqa: S105 - the kind of failure, not a token
    PERMISSION = "permission"
    RESTRICTED = "restricted"
    RECIPIENT_GONE = "recipient_gone"
    WINDOW_CLOSED = "window_closed"
    OWNED_BY_ANOTHER = "owned_by_another"
    BAD_CONTENT = "bad_content"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """The same words again, after this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class HandOver:
    """A human answers. `can_tell` is False when the customer cannot be told so by us: only the managers are."""

    reason: str
    can_tell: bool = True


@dataclass(frozen=True, slots=True)
class Expire:
    """The messaging window is closed: nothing may be sent any more."""


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """This customer will never receive a reply."""

    reason: str


@dataclass(frozen=True, slots=True)
class ParkAccount:
    """No sends of the whole account for this many seconds; the words are kept and sent later."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Settle:
    """Find out first whether it arrived."""


RetryPlan: TypeAlias = RetryAfter | HandOver | Expire | Undeliverable | ParkAccount | Settle


def plan_retry(
    failure: Failure,
    *,
    attempt: int,
    elapsed_seconds: float,
    deadline_seconds: float,
    jitter: float,
    retry_after_seconds: float | None = None,
) -> RetryPlan:
    """Decide what follows the `attempt`-th failure (from 1).

    `elapsed_seconds` and `deadline_seconds` count from the same moment; the deadline is the end of the messaging
    window, past which nothing can be sent. `jitter` is in [0, 1) and spreads the waits. `retry_after_seconds` is the
    other side's `Retry-After`: no wait is shorter, unless the deadline comes first.
    """
    left = deadline_seconds - elapsed_seconds
    match failure:
        case Failure.RECIPIENT_GONE:
            return Undeliverable(failure.value)
        case Failure.WINDOW_CLOSED:
            return Expire()
        case Failure.OWNED_BY_ANOTHER:
            return HandOver(failure.value, can_tell=False)
        case Failure.BAD_CONTENT:
            return HandOver(failure.value)
        case (
            Failure.TRANSIENT
            | Failure.THROTTLED
            | Failure.TOKEN
            | Failure.PERMISSION
            | Failure.RESTRICTED
            | Failure.UNKNOWN
        ) if left <= 0:
            return Expire()
        case Failure.UNKNOWN:
            return Settle()
        case Failure.TRANSIENT:
            return RetryAfter(min(_wait(BACKOFF_SECONDS, attempt, jitter, retry_after_seconds), left))
        case Failure.THROTTLED:
            # Not cut to the deadline: an account is parked for all its customers.
            return ParkAccount(failure.value, _wait(THROTTLE_SECONDS, attempt, jitter, retry_after_seconds))
        case Failure.TOKEN | Failure.PERMISSION:
            return ParkAccount(failure.value, max(OPERATOR_SECONDS, retry_after_seconds or 0.0))
        case Failure.RESTRICTED:
            return ParkAccount(failure.value, max(RESTRICTED_SECONDS, retry_after_seconds or 0.0))
        case _:
            assert_never(failure)


def _wait(steps: tuple[float, ...], attempt: int, jitter: float, retry_after: float | None) -> float:
    """A step of the ladder give or take a quarter; `retry_after` is only ever lengthened, by a tenth at most."""
    step = steps[min(max(attempt, 1), len(steps)) - 1] * (0.75 + jitter / 2)
    return max(step, (retry_after or 0.0) * (1 + jitter / 10))
