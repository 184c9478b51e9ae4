"""Does anything of Meta's get through to us? What is refused in a row, with nothing taken between, says it does not.

The secret of another app, a proxy that changes bodies or takes the signature away: Meta calls, is refused, and gives up
after an hour. A stranger cannot make it look like that while Meta's own POSTs are taken; where none comes for a minute,
twenty forged ones are enough. So the alert says both, the first POST that is taken ends it, and for a day after a false
alarm the next one takes an hour.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.alerts.alert import Alert
from runtime.clock import monotonic
from store.health import DEAF, UNREADABLE

MOST_IN_A_ROW = 20
PATIENCE_SECONDS = 60.0
PATIENCE_AFTER_ALARM_SECONDS = 3600.0
ALARM_REMEMBERED_SECONDS = 24 * 3600.0


class Deafness:
    """One way to hear nothing, of this process alone."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._since = 0.0
        self._ever_heard = False
        self._alarm_at: float | None = None

    def heard(self) -> None:
        self._ever_heard = True
        self._in_a_row = 0

    def missed(self) -> None:
        if not self._in_a_row:
            self._since = self._clock()
        self._in_a_row += 1

    def judge(self) -> int:
        """How many were missed in a row when it is deaf, 0 when it hears; raise `TooEarlyToSay`."""
        now = self._clock()
        if self._in_a_row >= MOST_IN_A_ROW and now - self._since >= self._patience_seconds():
            self._alarm_at = now
            return self._in_a_row
        if not self._ever_heard:
            raise TooEarlyToSay
        return 0

    def _patience_seconds(self) -> float:
        if self._alarm_at is None or self._alarm_at >= self._since:  # this one goes on
            return PATIENCE_SECONDS
        remembered = self._since - self._alarm_at < ALARM_REMEMBERED_SECONDS
        return PATIENCE_AFTER_ALARM_SECONDS if remembered else PATIENCE_SECONDS


class TooEarlyToSay(Exception):
    """Nothing was heard yet, and too little missed."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """`signed`: is anything signed with a secret of ours? `understood`: does anything that is signed make sense?"""

    signed: Deafness = field(default_factory=Deafness)
    understood: Deafness = field(default_factory=Deafness)

    def judge(self) -> dict[str, Alert | None]:
        """By the rules of the watchdog: what it is too early to say of is left out."""
        judged: dict[str, Alert | None] = {}
        for rule, deafness in ((DEAF, self.signed), (UNREADABLE, self.understood)):
            try:
                missed = deafness.judge()
            except TooEarlyToSay:
                continue
            judged[rule] = Alert(rule, detail=str(missed)) if missed else None
        return judged
