"""Who is on duty: the bot now, or people first."""

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum

from bot.outcome import Deferral


class ShiftMode(StrEnum):
    ALWAYS = "always"
    HOURS = "hours"
    HUMANS_FIRST = "humans_first"


@dataclass(frozen=True, slots=True)
class Hours:
    """A span of local time in which the bot works; it may cross midnight. Equal ends mean the whole day."""

    start: time
    end: time

    def holds(self, moment: time) -> bool:
        if self.start == self.end:
            return True
        if self.start < self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end


@dataclass(frozen=True, slots=True)
class OnDuty:
    """The bot may answer now."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """People go first; the message stays open and is due again `at`."""

    at: datetime
    reason: Deferral


def parse_hours(text: str) -> Hours:
    """Read "20:00-10:00"; raise ValueError that says what is expected."""
    match = re.fullmatch(r"\s*(\d{1,2}):(\d{2})\s*[-\u2013]\s*(\d{1,2}):(\d{2})\s*", text)
    if not match:
        raise ValueError(f'{text!r} is not a span of hours; write it like "20:00-10:00"')
    h1, m1, h2, m2 = (int(part) for part in match.groups())
    try:
        return Hours(time(h1 % 24 if (h1, m1) == (24, 0) else h1, m1), time(h2 % 24 if (h2, m2) == (24, 0) else h2, m2))
    except ValueError as exc:
        raise ValueError(f'{text!r} is not a span of hours; write it like "20:00-10:00"') from exc


def who_is_on_duty(
    mode: ShiftMode,
    *,
    hours: tuple[Hours, ...],
    now: datetime,
    oldest_open_at: datetime,
    humans_first_minutes: float,
) -> OnDuty | Deferred:
    """`now` and `oldest_open_at` are aware and in the business's time zone."""
    match mode:
        case ShiftMode.ALWAYS:
            return OnDuty()
        case ShiftMode.HOURS:
            if not hours or any(span.holds(now.timetz().replace(tzinfo=None)) for span in hours):
                return OnDuty()
            return Deferred(min(_next_start(span.start, now) for span in hours), Deferral.OFF_DUTY)
        case ShiftMode.HUMANS_FIRST:
            patience_ends = oldest_open_at + timedelta(minutes=humans_first_minutes)
            return OnDuty() if now >= patience_ends else Deferred(patience_ends, Deferral.HUMANS_FIRST)


def _next_start(start: time, now: datetime) -> datetime:
    today = now.replace(hour=start.hour, minute=start.minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)
