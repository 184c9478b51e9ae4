import pytest

from bot.retry import (
    BACKOFF_SECONDS,
    Expire,
    Failure,
    HandOver,
    ParkAccount,
    RetryAfter,
    RetryPlan,
    Settle,
    Undeliverable,
    plan_retry,
)

DAY = 24 * 3600.0


def plan(
    failure: Failure,
    attempt: int = 1,
    elapsed: float = 0.0,
    jitter: float = 0.5,
    retry_after: float | None = None,
    deadline: float = DAY,
) -> RetryPlan:
    return plan_retry(
        failure,
        attempt=attempt,
        elapsed_seconds=elapsed,
        deadline_seconds=deadline,
        jitter=jitter,
        retry_after_seconds=retry_after,
    )


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure.TRANSIENT, RetryAfter(1.0)),
        (Failure.THROTTLED, ParkAccount("throttled", 30.0)),
        (Failure.TOKEN, ParkAccount("token", 300.0)),
        (Failure.PERMISSION, ParkAccount("permission", 300.0)),
        (Failure.RESTRICTED, ParkAccount("restricted", 3600.0)),
        (Failure.RECIPIENT_GONE, Undeliverable("recipient_gone")),
        (Failure.WINDOW_CLOSED, Expire()),
        (Failure.OWNED_BY_ANOTHER, HandOver("owned_by_another", can_tell=False)),
        (Failure.BAD_CONTENT, HandOver("bad_content")),
        (Failure.UNKNOWN, Settle()),
    ],
)
def test_each_failure_has_its_plan(failure: Failure, expected: RetryPlan) -> None:
    assert plan(failure) == expected


def test_no_failure_is_without_a_plan() -> None:
    assert all(plan(failure, attempt=99) is not None for failure in Failure)


def test_an_unknown_outcome_is_never_sent_again_blindly() -> None:
    plans = [plan(Failure.UNKNOWN, attempt=n, elapsed=e) for n in range(1, 20) for e in (0.0, DAY - 1, DAY, 2 * DAY)]

    assert not [p for p in plans if isinstance(p, RetryAfter)]


def test_waits_grow_and_then_stay() -> None:
    waits = [p.seconds for n in range(1, 13) if isinstance(p := plan(Failure.TRANSIENT, attempt=n), RetryAfter)]

    assert waits == [*BACKOFF_SECONDS, *[BACKOFF_SECONDS[-1]] * 4]


@pytest.mark.parametrize(("jitter", "expected"), [(0.0, 0.75), (0.5, 1.0), (0.999, 1.2495)])
def test_jitter_spreads_a_wait_by_a_quarter(jitter: float, expected: float) -> None:
    waiting = plan(Failure.TRANSIENT, jitter=jitter)

    assert isinstance(waiting, RetryAfter)
    assert waiting.seconds == pytest.approx(expected)


@pytest.mark.parametrize("jitter", [0.0, 0.999])
def test_the_other_sides_wish_is_never_undercut(jitter: float) -> None:
    waiting = plan(Failure.TRANSIENT, jitter=jitter, retry_after=90.0)
    parked = plan(Failure.THROTTLED, jitter=jitter, retry_after=19 * 60.0)

    assert isinstance(waiting, RetryAfter)
    assert 90 <= waiting.seconds <= 99
    assert isinstance(parked, ParkAccount)
    assert 1140 <= parked.seconds <= 1254


def test_the_last_retry_comes_no_later_than_the_window_closes() -> None:
    assert plan(Failure.TRANSIENT, attempt=8, elapsed=DAY - 10) == RetryAfter(10.0)


@pytest.mark.parametrize(
    "failure",
    [
        Failure.TRANSIENT,
        Failure.THROTTLED,
        Failure.TOKEN,
        Failure.PERMISSION,
        Failure.RESTRICTED,
        Failure.UNKNOWN,
    ],
)
def test_nothing_is_waited_for_once_the_window_has_closed(failure: Failure) -> None:
    assert plan(failure, elapsed=DAY) == Expire()


def test_a_final_refusal_stays_what_it_is_after_the_window() -> None:
    assert plan(Failure.RECIPIENT_GONE, elapsed=2 * DAY) == Undeliverable("recipient_gone")


@pytest.mark.parametrize("attempt", [-1, 0, 1])
def test_an_odd_attempt_number_waits_like_the_first(attempt: int) -> None:
    assert plan(Failure.TRANSIENT, attempt=attempt) == RetryAfter(1.0)
