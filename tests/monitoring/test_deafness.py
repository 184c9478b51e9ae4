"""Sixty POSTs refused for their signature, and none taken, are an incident; a stranger beside Meta is none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
import pytest

from monitoring.deafness import MOST_IN_A_ROW, PATIENCE_AFTER_ALARM_SECONDS, PATIENCE_SECONDS, Deafness, Hearing
from tests.webhooks.support import RECEIVED_MS, RememberingStore, instagram, make_settings, message, sign
from webhooks.app import create_app

pytestmark = pytest.mark.anyio

BODY = json.dumps(instagram(message("m", text="Привет"))).encode()
FORGED = sign(BODY, "the secret of another app")
DAY = 24 * 3600.0


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hearing(clock: Clock) -> Hearing:
    return Hearing(Deafness(clock), Deafness(clock))


def judged(hearing: Hearing) -> Mapping[str, str | None]:
    """By rule: the detail of its alert, None where all is well."""
    return {rule: alert.detail if alert else None for rule, alert in hearing.judge().items()}


def miss(hearing: Hearing, times: int = MOST_IN_A_ROW) -> None:
    for _ in range(times):
        hearing.signed.missed()


def test_before_anything_was_heard_nothing_is_said(hearing: Hearing) -> None:
    assert judged(hearing) == {}


def test_many_in_a_row_over_a_minute_are_deafness(hearing: Hearing, clock: Clock) -> None:
    miss(hearing)
    too_early = judged(hearing)
    clock.now = PATIENCE_SECONDS

    assert too_early == {}
    assert judged(hearing) == {"deaf": str(MOST_IN_A_ROW)}


def test_a_few_are_none_however_long_ago(hearing: Hearing, clock: Clock) -> None:
    miss(hearing, MOST_IN_A_ROW - 1)
    clock.now = DAY

    assert judged(hearing) == {}


def test_a_stranger_beside_meta_is_not_deafness(hearing: Hearing, clock: Clock) -> None:
    for clock.now in range(0, 600, 30):
        miss(hearing, 1000)
        assert judged(hearing).get("deaf") is None
        hearing.signed.heard()

    assert judged(hearing) == {"deaf": None}


def test_the_first_that_is_taken_ends_it(hearing: Hearing, clock: Clock) -> None:
    miss(hearing)
    clock.now = 3 * DAY
    assert judged(hearing)["deaf"] is not None
    hearing.signed.heard()

    assert judged(hearing) == {"deaf": None}


def test_after_one_alarm_the_next_of_the_day_takes_longer(hearing: Hearing, clock: Clock) -> None:
    def deaf_after(start: float, seconds: float) -> bool:
        clock.now = start
        hearing.signed.heard()
        miss(hearing)
        clock.now = start + seconds
        return judged(hearing)["deaf"] is not None

    assert deaf_after(0, PATIENCE_SECONDS)
    assert not deaf_after(1000, PATIENCE_SECONDS)
    assert not deaf_after(2000, PATIENCE_AFTER_ALARM_SECONDS - 1)
    assert deaf_after(10_000, PATIENCE_AFTER_ALARM_SECONDS)
    clock.now += 600
    assert judged(hearing)["deaf"] is not None  # it goes on
    assert deaf_after(clock.now + DAY, PATIENCE_SECONDS)


# Through the door.


class Door:
    def __init__(self, hearing: Hearing, *, secrets: str | None = None) -> None:
        settings = make_settings() if secrets is None else make_settings(secrets=secrets)
        self._app = create_app(settings, RememberingStore(), hearing=hearing, clock_ms=lambda: RECEIVED_MS)

    async def takes(self, *posts: tuple[bytes, Mapping[str, str]], times: int = 1) -> set[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url="http://receiver") as client:
            return {
                (await client.post("/webhooks/meta", content=body, headers=dict(headers))).status_code
                for _ in range(times)
                for body, headers in posts
            }


async def test_the_secret_of_another_app_is_deafness(hearing: Hearing, clock: Clock) -> None:
    door = Door(hearing)
    statuses = await door.takes((BODY, FORGED), times=60)
    clock.now = PATIENCE_SECONDS
    deaf = judged(hearing)
    await door.takes((BODY, sign(BODY)))

    assert statuses == {403}
    assert deaf == {"deaf": "60"}
    assert judged(hearing) == {"deaf": None, "unreadable_webhooks": None}


async def test_no_secret_at_all_is_deafness(hearing: Hearing, clock: Clock) -> None:
    await Door(hearing, secrets="").takes((BODY, FORGED), times=MOST_IN_A_ROW)
    clock.now = PATIENCE_SECONDS

    assert "deaf" in judged(hearing)


@pytest.mark.parametrize(("agent", "is_deaf"), [("facebookexternalua", True), ("a scanner", False)])
async def test_a_signature_that_a_proxy_takes_away_is_deafness(
    hearing: Hearing, clock: Clock, agent: str, is_deaf: bool
) -> None:
    await Door(hearing).takes((BODY, {"User-Agent": agent}), times=MOST_IN_A_ROW)
    clock.now = PATIENCE_SECONDS

    assert bool(judged(hearing).get("deaf")) is is_deaf


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b'{"object":"something_else","entry":[]}',
        json.dumps({"object": "instagram", "entry": [{"id": "1", "changed_fields": ["messages"]}]}).encode(),
    ],
)
async def test_signed_bodies_that_say_nothing_are_deafness_too(hearing: Hearing, clock: Clock, body: bytes) -> None:
    door = Door(hearing)
    await door.takes((body, sign(body)), times=MOST_IN_A_ROW)
    clock.now = PATIENCE_SECONDS
    deaf = judged(hearing)
    await door.takes((BODY, sign(BODY)))

    assert deaf == {"deaf": None, "unreadable_webhooks": str(MOST_IN_A_ROW)}
    assert judged(hearing) == {"deaf": None, "unreadable_webhooks": None}
