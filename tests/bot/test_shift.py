from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bot.outcome import Deferral
from bot.shift import Deferred, Hours, OnDuty, ShiftMode, parse_hours, who_is_on_duty

MOSCOW = ZoneInfo("Europe/Moscow")
NIGHT = (parse_hours("20:00-10:00"),)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 30, hour, minute, tzinfo=MOSCOW)


def duty(
    mode: ShiftMode, now: datetime, *, hours: tuple[Hours, ...] = NIGHT, waited_minutes: float = 0
) -> OnDuty | Deferred:
    return who_is_on_duty(
        mode, hours=hours, now=now, oldest_open_at=now - timedelta(minutes=waited_minutes), humans_first_minutes=10
    )


@pytest.mark.parametrize("hour", [20, 23, 0, 9])
def test_the_night_shift_crosses_midnight(hour: int) -> None:
    assert duty(ShiftMode.HOURS, at(hour)) == OnDuty()


@pytest.mark.parametrize("hour", [10, 12, 19])
def test_by_day_the_message_waits_for_the_shift_to_begin(hour: int) -> None:
    assert duty(ShiftMode.HOURS, at(hour)) == Deferred(at(20), Deferral.OFF_DUTY)


def test_the_next_of_several_shifts_counts() -> None:
    hours = (parse_hours("22:00-23:00"), parse_hours("13:00-14:00"))

    assert duty(ShiftMode.HOURS, at(12), hours=hours) == Deferred(at(13), Deferral.OFF_DUTY)


def test_a_shift_that_has_passed_today_begins_tomorrow() -> None:
    assert duty(ShiftMode.HOURS, at(12), hours=(parse_hours("08:00-09:00"),)) == Deferred(
        at(8) + timedelta(days=1), Deferral.OFF_DUTY
    )


def test_hours_without_hours_never_silence_the_bot() -> None:
    assert duty(ShiftMode.HOURS, at(12), hours=()) == OnDuty()


def test_humans_first_gives_people_their_minutes_and_then_steps_in() -> None:
    waiting = duty(ShiftMode.HUMANS_FIRST, at(12), waited_minutes=4)

    assert waiting == Deferred(at(12, 6), Deferral.HUMANS_FIRST)
    assert duty(ShiftMode.HUMANS_FIRST, at(12), waited_minutes=10) == OnDuty()


def test_always_is_always() -> None:
    assert duty(ShiftMode.ALWAYS, datetime(2026, 1, 1, tzinfo=UTC)) == OnDuty()


@pytest.mark.parametrize("text", ["20-10", "25:00-10:00", "20:61-10:00", "", "20:00", "from 20:00 to 10:00"])
def test_hours_that_cannot_be_read_say_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="20:00-10:00"):
        parse_hours(text)


@pytest.mark.parametrize("text", ["00:00-24:00", "09:00-09:00"])
def test_a_whole_day_is_a_shift_too(text: str) -> None:
    assert all(parse_hours(text).holds(at(hour).time()) for hour in range(24))
