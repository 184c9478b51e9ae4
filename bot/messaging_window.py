"""May we write to this customer now? The messaging window, by Meta's own timestamp of the customer's last action.

The scripts get these three spans from here (store/assembly/constants.py).
"""

from dataclasses import dataclass

WINDOW_MS = 24 * 3600 * 1000
# A send that is on its way when the window closes is refused: stop a little earlier (reference: 23 h 50 m).
MARGIN_MS = 10 * 60 * 1000
# So long before nothing may be sent any more, the managers hear of a conversation that still waits.
WARNING_MS = 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class MayWrite:
    """Until `closes_at_ms`, our own margin included."""

    closes_at_ms: int
    ends_soon: bool


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """Meta refuses every automatic reply since `since_ms`."""

    since_ms: int


def may_write(*, last_action_at_ms: int, now_ms: int) -> MayWrite | WindowClosed:
    closes = last_action_at_ms + WINDOW_MS - MARGIN_MS
    return MayWrite(closes, now_ms >= closes - WARNING_MS) if now_ms < closes else WindowClosed(closes)
