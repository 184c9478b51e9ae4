"""What strangers may have done for them refills, has a most, and is never owed for ever."""

from dataclasses import dataclass

import pytest

from webhooks.guards.budget import Budget


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budget(clock: Clock) -> Budget:
    return Budget(share=0.1, most_seconds=1.0, clock=clock)


def test_what_was_spent_comes_back_in_time(budget: Budget, clock: Clock) -> None:
    budget.spend(1.0)
    empty = budget.has_some
    clock.now = 0.5

    assert (empty, budget.has_some) == (False, True)


def test_nothing_gathers_beyond_the_most(budget: Budget, clock: Clock) -> None:
    clock.now = 1000.0
    assert budget.has_some
    budget.spend(1.0)

    assert not budget.has_some


def test_a_long_attack_is_not_paid_for_ever(budget: Budget, clock: Clock) -> None:
    for _ in range(100):
        budget.spend(1.0)
    empty = not budget.has_some
    clock.now = 10.1

    assert (empty, budget.has_some) == (True, True)
    assert budget.spent_seconds == pytest.approx(100.0)
