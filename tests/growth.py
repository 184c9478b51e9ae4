"""Whether work grows no faster than what it is given: twice the input, about twice the work, on any machine.

An absolute time says more of the machine than of the code; how long things take is the business of `benchmarks/`.
"""

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

MOST = 2.5  # twice the work, and room for a logarithm and a cache that is too small; a square would be 4
LEAST_SECONDS = 0.02  # of CPU in one measurement: a thousand times what the clock and a page fault add
LEAST_ROUNDS, MOST_ROUNDS = 2, 12  # before work is called even, and before it is called uneven

T = TypeVar("T")


def growth(act: Callable[[T], object], make: Callable[[int], T], size: int) -> float:
    """The work of `act(make(2 * size))` in units of that of `act(make(size))`.

    Work is CPU time of this process, so that others on the machine hardly count. What they slow down all the same (a
    shared core, a shared cache) they slow down for a while: the two are measured in turns, and the smaller of two
    figures is taken, the least of one against the least of the other and the median of each against its neighbour.

    `act` is repeated on the same input until there is enough to measure, so it must not remember its last answer.
    `size` is best half of the largest input that is let in, since what is bounded shows no earlier that it is; the two
    inputs should differ in nothing but size.
    """
    small, large = make(size), make(2 * size)
    act(small)  # patterns compile and caches fill at their first need
    times = _times_until_measurable(act, small)
    pairs: list[tuple[float, float]] = []
    while True:
        pairs.append((_cpu_seconds(act, small, times), _cpu_seconds(act, large, times)))
        found = min(
            min(after for _, after in pairs) / min(before for before, _ in pairs),
            median(after / before for before, after in pairs),
        )
        if len(pairs) >= (LEAST_ROUNDS if found <= MOST else MOST_ROUNDS):
            return found


def _times_until_measurable(act: Callable[[T], object], given: T) -> int:
    times = 1
    while _cpu_seconds(act, given, times) < LEAST_SECONDS:
        times *= 2
    return times


def _cpu_seconds(act: Callable[[T], object], given: T, times: int) -> float:
    """Without the garbage collector, whose cost depends on everything else that is alive."""
    gc.disable()
    try:
        began = time.process_time()
        for _ in range(times):
            act(given)
        return time.process_time() - began
    finally:
        gc.enable()
