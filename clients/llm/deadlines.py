"""The four deadlines of one call to the model, of which the next one to fall always has a name."""

from dataclasses import dataclass
from typing import Final

from bot.model_output import CallFault
from clients.llm.completions import Progress

# What may still follow a finished answer: the usage, `[DONE]`, the end. Worth little, so it is waited for little.
AFTER_FINISH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Deadlines:
    """`first_byte`: until the first event with a choice in it, from the start of the call, connecting included.
    `idle`: between two such events; comments, blank lines and pings do not count. `total`: for everything.
    `thinking`: how long the model may be at work, reasoning or sending blanks, without a word or a tool call.
    """

    first_byte_seconds: float
    idle_seconds: float
    total_seconds: float
    thinking_seconds: float


class CallTimer:
    """Says when the call is to be cut, and as what; fed with the loop's time."""

    def __init__(self, deadlines: Deadlines, *, now: float) -> None:
        self._deadlines = deadlines
        self._started = now
        self._first_at: float | None = None
        self._last_at = now
        self._thinking_since: float | None = None
        self._finished_at: float | None = None
        self._whole = False

    @property
    def first_byte_seconds(self) -> float | None:
        return None if self._first_at is None else self._first_at - self._started

    def elapsed(self, now: float) -> float:
        return now - self._started

    def note(self, progress: Progress, now: float) -> None:
        if progress is Progress.NOTHING:
            return
        if self._first_at is None:
            self._first_at = now
        self._last_at = now
        if progress is Progress.WORDS:
            self._thinking_since = None
        elif self._thinking_since is None:
            self._thinking_since = now

    def note_whole(self, now: float) -> None:
        """The answer will come as one body: nothing but the total deadline applies from here on."""
        self._first_at = now if self._first_at is None else self._first_at
        self._whole = True

    def note_finished(self, now: float) -> None:
        if self._finished_at is None:
            self._finished_at = now

    def next(self) -> tuple[float, CallFault]:
        """The moment of the next cut and its fault."""
        limits = self._deadlines
        cuts = [(self._started + limits.total_seconds, CallFault.DEADLINE)]
        if self._finished_at is not None:
            cuts.append((self._finished_at + AFTER_FINISH_SECONDS, CallFault.IDLE))
        elif self._whole:
            pass
        elif self._first_at is None:
            cuts.append((self._started + limits.first_byte_seconds, CallFault.NO_FIRST_BYTE))
        else:
            cuts.append((self._last_at + limits.idle_seconds, CallFault.IDLE))
            if self._thinking_since is not None:
                cuts.append((self._thinking_since + limits.thinking_seconds, CallFault.THINKING_TOO_LONG))
        return min(cuts)
