from webhooks.guards.throttle import Throttle


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_passes_and_the_rest_is_counted_until_time_is_up() -> None:
    clock = Clock()
    throttle = Throttle(30, clock)

    assert throttle.passes("a") == 0
    assert [throttle.passes("a") for _ in range(3)] == [None, None, None]
    assert throttle.passes("b") == 0
    clock.now += 30
    assert throttle.passes("a") == 3
    clock.now += 31
    assert throttle.passes("a") == 0


def test_it_forgets_rather_than_grows() -> None:
    throttle = Throttle(30, Clock())

    assert all(throttle.passes(n) == 0 for n in range(5000))
    assert throttle.passes(4999) is None
    assert throttle.passes(0) == 0
