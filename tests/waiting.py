"""How a test waits: for a fact, with a patience that only ends what hangs."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from sandbox.patience import PATIENCE_SECONDS

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str | Callable[[], str], *, seconds: float = PATIENCE_SECONDS) -> T:
    """Poll until `condition` gives something true, which is returned; fail with `what` when it never does."""
    for _ in polls(seconds):
        if found := condition():
            return found
    raise AssertionError(f"waited {seconds:.0f} s for {what() if callable(what) else what}")


def polls(seconds: float, *, every_seconds: float = 0.02) -> Iterator[None]:
    """A loop's turns for some seconds, at least one, with a pause after each: how long a test keeps something up."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(every_seconds)
        yield
