from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bot.alerts.alert import Alert, read_alert
from bot.alerts.rendering import AlertWords, Surroundings, render_alert
from tests.rooms import ROOT
from worker.alerts.alert_words import load_alert_words

WORDS: AlertWords = load_alert_words(ROOT / "prompts", "en")
AROUND = Surroundings(datetime(2026, 11, 30, tzinfo=UTC), None, "Demo Studio")
NAMES = tuple(Alert.__dataclass_fields__)

texts = st.text(max_size=30)
moments = st.integers(0, 10**14 - 1)
alerts = st.builds(
    Alert,
    texts,
    detail=texts,
    channel=texts,
    account=texts,
    conversation=texts,
    told=st.booleans(),
    waiting_since=moments,
    last_message_at=moments,
    acted_at=moments,
    first_at=moments,
    raised_at=moments,
    recovered=st.booleans(),
    over_at=moments,
    count=st.integers(1, 10**9),
)
odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
bodies = st.dictionaries(st.sampled_from(NAMES) | texts, odd, max_size=16)


@given(alerts)
def test_what_is_written_is_read_again(alert: Alert) -> None:
    assert read_alert(alert.body()) == alert


def test_a_blank_is_not_written() -> None:
    assert Alert("no_worker", first_at=5).body() == {"rule": "no_worker", "first_at": 5, "count": 1}


def test_numbers_that_lua_has_written_with_a_fraction_are_whole() -> None:
    assert read_alert({"rule": "x", "first_at": 1.79e12, "count": 3.0}) == Alert("x", first_at=1790000000000, count=3)


@given(bodies)
@example({"count": -3, "waiting_since": 10**300, "detail": ["x"], "rule": None, "told": "false"})
@example({"last_message_at": 10**300})
@example({"last_message_at": -5.5})
@example({"recovered": True, "over_at": float("inf"), "first_at": float("nan")})
def test_a_body_of_any_version_renders(body: dict[str, Any]) -> None:
    alert = read_alert(body)
    last = datetime.fromtimestamp(alert.last_message_at / 1000, UTC)
    html = render_alert(alert, WORDS, replace(AROUND, last_message_at=last))

    assert alert.count >= 1
    assert alert.told is (body.get("told") is True)  # a customer is never said to know what they may not
    assert html.strip()
