"""Scripted misfortunes of the Meta stand-in, each used once for each of its `times`, in the order given."""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal, get_args

from starlette.requests import Request
from starlette.responses import Response

from runtime.settings import Account
from sandbox.meta.errors import refusal, throttling_headers
from sandbox.meta.table import BY_NAME
from sandbox.silence import CutConnection, hang

Call = Literal["messages", "actions", "reads", "me"]


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
        super().__init__()
        self._faults: dict[Call, deque[Fault]] = {call: deque() for call in get_args(Call)}
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

    def refuse_as(self, name: str, times: int = 1) -> None:
        """Answer as a row of `sandbox.meta.table` has it, on the kind of call that meets it."""
        row = BY_NAME[name]
        self._script(row.on, Fault("refuse", row.delivered, row.code, row.subcode), times)

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

    async def _fault(self, on: Call, customer_id: str) -> Fault | None:
        """The next one scripted; a slow answer has been waited for and is none."""
        fault = self.take_fault(on, customer_id)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return None
        return fault

    async def _fail(self, request: Request, account: Account, fault: Fault) -> Response:
        match fault.kind:
            case "refuse":
                headers = {}
                if fault.minutes is not None:
                    headers = throttling_headers(account, percent=100, minutes=fault.minutes)
                return refusal(fault.code, fault.subcode, fault.status, headers=headers)
            case "garbage":
                return Response("<html><body>Sorry, something went wrong.</body></html>", media_type="text/html")
            case "cut":
                return CutConnection()
            case "hang" | "slow":
                await hang(request, fault.seconds)
                return CutConnection()
