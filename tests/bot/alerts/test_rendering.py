from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.alerts.alert import Alert
from bot.alerts.rendering import AlertWords, Surroundings, alert_backoff_seconds, duration, render_alert
from tests.rooms import ROOT
from worker.alerts.alert_words import load_alert_words

PROMPTS = ROOT / "prompts"
NOW = datetime(2026, 11, 30, 2, 15, 0, tzinfo=ZoneInfo("Europe/Moscow"))
ALERT = Alert(
    "reasoning_lock",
    told=True,
    conversation="4eb1e8a7ea08e4a6",
    channel="instagram",
    account="17841400000000042",
    waiting_since=int(NOW.timestamp() * 1000) - 65_000,
)


@pytest.fixture(params=["ru", "en"])
def words(request: pytest.FixtureRequest) -> AlertWords:
    return load_alert_words(PROMPTS, request.param)


def around(**more: Any) -> Surroundings:
    return Surroundings(now=NOW, last_message_at=NOW, account_name="Demo & Studio", **more)


def test_a_manager_reads_what_happened_who_waits_and_how_long(words: AlertWords) -> None:
    html = render_alert(ALERT, words, around(customer="@anna", link="https://www.instagram.com/anna/"))

    assert words.reasons["reasoning_lock"] in html
    assert words.titles["told"] in html
    assert "@anna" in html
    assert f"1 {words.units['minutes']} 5 {words.units['seconds']}" in html
    assert "02:15, 30.11 (MSK)" in html
    assert "4eb1e8a7ea08e4a6" in html
    assert "Demo &amp; Studio" in html


def test_names_cannot_write_markup(words: AlertWords) -> None:
    html = render_alert(
        ALERT, words, around(customer='<a href="https://example.invalid">Anna</a>', link='https://x/?a="b"')
    )

    assert "&lt;a href=" in html
    assert 'a="b"' not in html


def test_a_customer_who_was_not_told_is_said_so(words: AlertWords) -> None:
    assert words.titles["not_told"] in render_alert(replace(ALERT, told=False), words, around())


def test_a_rule_without_words_of_its_own_is_named(words: AlertWords) -> None:
    assert "brand_new_rule" in render_alert(replace(ALERT, rule="brand_new_rule"), words, around())


def test_an_incident_that_goes_on_says_how_often(words: AlertWords) -> None:
    assert "3" in render_alert(replace(ALERT, count=3), words, around()).splitlines()[-1]


def test_both_locales_know_the_same_words() -> None:
    ru, en = (load_alert_words(PROMPTS, locale) for locale in ("ru", "en"))

    assert ru.reasons.keys() == en.reasons.keys()
    assert ru.titles.keys() == en.titles.keys()
    assert ru.labels.keys() == en.labels.keys()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (8000, "2 h 13 min")]
)
def test_spans_are_short(seconds: float, text: str) -> None:
    assert duration(seconds, {"seconds": "s", "minutes": "min", "hours": "h"}) == text


def test_an_alert_is_tried_for_ever_and_ever_more_rarely() -> None:
    waits = [alert_backoff_seconds(tries) for tries in range(1, 40)]

    assert waits == sorted(waits)
    assert waits[-1] == 300
    assert alert_backoff_seconds(1, asked_seconds=900) == 900
