"""What the next calls to the Telegram stand-in meet, in the order in which it was asked for."""

import threading
from collections import deque
from dataclasses import dataclass

from sandbox.telegram.requests import Refusal


@dataclass(frozen=True, slots=True)
class Fault:
    refusal: Refusal | None = None
    cut: bool = False
    hang_seconds: float | None = None
    delivered: bool = False


class Faults:
    """`changed` is the stand-in's: tests script in one thread, the server takes in another."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._faults: deque[Fault] = deque()

    def throttle_next(self, retry_after: int, times: int = 1) -> None:
        """429 with the seconds to wait."""
        description = f"Too Many Requests: retry after {retry_after}"
        self._script(Fault(Refusal(429, description, {"retry_after": retry_after})), times)

    def refuse_next(self, code: int, description: str, times: int = 1) -> None:
        """Any other refusal, such as 403 "Forbidden: bot was kicked from the supergroup chat"."""
        self._script(Fault(Refusal(code, description)), times)

    def lose_answer_next(self, times: int = 1) -> None:
        """Deliver, then cut the connection without an answer."""
        self._script(Fault(cut=True, delivered=True), times)

    def hang_next(self, seconds: float, times: int = 1) -> None:
        """Deliver, then say nothing for so long."""
        self._script(Fault(hang_seconds=seconds, delivered=True), times)

    def clear_faults(self) -> None:
        """Forget what was scripted and has met no call yet."""
        with self._changed:
            self._faults.clear()

    def _script(self, fault: Fault, times: int) -> None:
        with self._changed:
            self._faults.extend([fault] * times)

    def take_fault(self) -> Fault | None:
        with self._changed:
            return self._faults.popleft() if self._faults else None
