"""The clocks of our machines are off by a day, each its own way: nobody is expired, nobody waits."""

from pathlib import Path

from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed

# Python imports this first of all; the process then reads a clock that is off by so many seconds.
_SKEW = """
import os, time
_off = float(os.environ["TEST_CLOCK_OFF_SECONDS"])
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + _off
time.time_ns = lambda: _time_ns() + int(_off * 1e9)
"""

DAY = 86400


def test_processes_whose_clocks_are_off_by_a_day_answer_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SKEW, encoding="utf-8")
    with Stack(tmp_path / "stack", processes=(), quiet=0.3, max_wait=1, budget=12) as stack:
        for name, off in (("web", -DAY), ("dispatcher", 3600), ("worker", DAY)):
            environment = {"PYTHONPATH": str(tmp_path), "TEST_CLOCK_OFF_SECONDS": str(off)}
            stack.spawn(name, environment=environment)
        stack.wait_until_ready()
        people = [Customer(stack, new_customer()) for _ in range(3)]
        for person in people:
            person.writes("Привет")
        for person in people:
            person.waits_for()

        ledger = all_closed(stack)

        assert ledger["answered"] == len(people)
        assert ledger["expired"] == 0
