"""Scripted misfortunes of the Meta stand-in, each used once for each of its `times`, in the order given."""

import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

Call = Literal["messages", "actions", "reads"]


@dataclass(frozen=True, slots=True)
class Fault:
    """`delivered`: the message reaches the customer all the same. `slow` is no fault but a late answer."""

    kind: Literal["refuse", "garbage", "cut", "hang", "slow"]
    delivered: bool = False
    code: int = 1
    subcode: int | None = None
    status: int | None = None
    minutes: int | None = None
    seconds: float = 0.0


class Faults:
    def __init__(self) -> None:
        self._faults: dict[Call, deque[Fault]] = {"messages": deque(), "actions": deque(), "reads": deque()}
        self._personal: dict[tuple[Call, str], deque[Fault]] = {}
        self._faults_lock = threading.Lock()

    def refuse_next(
        self,
        code: int,
        subcode: int | None = None,
        status: int | None = None,
        times: int = 1,
        *,
        on: Call = "messages",
        delivered: bool = False,
    ) -> None:
        """Answer an error; `delivered` for the errors behind which a message did go out, such as 1/1357046."""
        self._script(on, Fault("refuse", delivered, code, subcode, status), times)

    def throttle_next(self, minutes: int = 1, times: int = 1, *, code: int = 613, on: Call = "messages") -> None:
        """Refuse as throttled, with the minutes until access is regained in the usage headers."""
        self._script(on, Fault("refuse", code=code, minutes=minutes), times)

    def lose_answer_next(self, times: int = 1, *, on: Call = "messages") -> None:
        """Deliver, then cut the connection without an answer."""
        self._script(on, Fault("cut", delivered=True), times)

    def drop_before_next(self, times: int = 1, *, on: Call = "messages") -> None:
        """Cut the connection and deliver nothing; from outside this looks like `lose_answer_next`."""
        self._script(on, Fault("cut"), times)

    def answer_garbage_next(self, times: int = 1, *, on: Call = "messages", delivered: bool = True) -> None:
        """A 200 that is not JSON."""
        self._script(on, Fault("garbage", delivered), times)

    def hang_next(self, seconds: float, times: int = 1, *, on: Call = "messages", delivered: bool = True) -> None:
        """No answer for so long, then a cut connection; ends early when the caller gives up."""
        self._script(on, Fault("hang", delivered, seconds=seconds), times)

    def fault_for(self, customer_id: str, *faults: Fault, on: Call = "messages") -> None:
        """Only calls that concern this customer meet these, and before any other fault."""
        with self._faults_lock:
            self._personal.setdefault((on, customer_id), deque()).extend(faults)

    def take_fault(self, on: Call, customer_id: str = "") -> Fault | None:
        with self._faults_lock:
            personal = self._personal.get((on, customer_id))
            if personal:
                return personal.popleft()
            return self._faults[on].popleft() if self._faults[on] else None

    def faults_left(self) -> int:
        """How many scripted faults no call has met; a test that ends with some tested less than it says."""
        with self._faults_lock:
            return sum(len(queue) for queue in (*self._faults.values(), *self._personal.values()))

    def clear_faults(self) -> None:
        with self._faults_lock:
            self._personal.clear()
            for queue in self._faults.values():
                queue.clear()

    def _script(self, on: Call, fault: Fault, times: int) -> None:
        with self._faults_lock:
            self._faults[on].extend([fault] * times)
