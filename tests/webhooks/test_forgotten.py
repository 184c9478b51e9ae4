"""A signed body is worth nothing once what it holds may have been forgotten: it could be answered a second time."""

import json
from typing import Any

import httpx
import pytest

from bot.incoming.events import (
    Channel,
    Comment,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    MessageKind,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
)
from bot.outcome import SilenceReason
from store.connection import StoreUnavailable
from store.limits import SEEN_SECONDS
from tests.webhooks.support import INSTAGRAM, ON_INSTAGRAM, RememberingStore, instagram, item, make_settings, sign
from webhooks.app import create_app
from webhooks.forgotten import CLOCKS_APART_SECONDS, TAKEN_SECONDS, has_forgotten, without_forgotten

pytestmark = pytest.mark.anyio

NOW_MS = 1_790_000_999_000
HOUR_MS = 3_600_000
OLD_MS = NOW_MS - 61 * HOUR_MS
TOO_OLD = Noted("too_old", INSTAGRAM)
META_REPEATS_SECONDS = 36 * 3600


def message(at_ms: int, **more: Any) -> CustomerMessage:
    return CustomerMessage(ON_INSTAGRAM, MessageKind.MESSAGE, "m", at_ms, "Привет", **more)


def test_what_meta_still_repeats_is_taken_and_what_is_taken_is_remembered() -> None:
    assert META_REPEATS_SECONDS + CLOCKS_APART_SECONDS <= TAKEN_SECONDS
    assert TAKEN_SECONDS + CLOCKS_APART_SECONDS <= SEEN_SECONDS


@pytest.mark.parametrize(
    "event",
    [
        message(OLD_MS),
        Echo(ON_INSTAGRAM, "e", OLD_MS, "Здравствуйте"),
        Edit(ON_INSTAGRAM, "m", OLD_MS, "иначе", 1),
        ThreadControl(ON_INSTAGRAM, "take", OLD_MS),
        PolicyEnforcement(Channel.INSTAGRAM, INSTAGRAM, "block", OLD_MS),
        Noted("ghost_edit", INSTAGRAM, unread=UnreadMessage(Channel.INSTAGRAM, INSTAGRAM, "m", OLD_MS)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_would_do_something_again_is_noted_only(event: Event) -> None:
    fresh = message(NOW_MS)

    assert has_forgotten([fresh, event], NOW_MS)
    assert without_forgotten([fresh, event], NOW_MS) == [fresh, TOO_OLD]


@pytest.mark.parametrize(
    "event",
    [
        message(NOW_MS - 59 * HOUR_MS),
        message(NOW_MS + HOUR_MS),
        message(OLD_MS, closed_as=SilenceReason.TEST_EVENT),
        Deletion(ON_INSTAGRAM, "m", OLD_MS),
        CustomerAction(ON_INSTAGRAM, "reaction", OLD_MS),
        Noted("read", INSTAGRAM),
        Noted("comment", INSTAGRAM, Comment(Channel.INSTAGRAM, INSTAGRAM, "c", "u", OLD_MS, "цена")),
    ],
)
def test_the_rest_is_taken_as_it_is(event: Event) -> None:
    assert not has_forgotten([event], NOW_MS)
    assert without_forgotten([event], NOW_MS) == [event]


class Door:
    """A receiver with clocks of its own and of Redis's."""

    def __init__(self, *, clock_ms: int = NOW_MS, redis_ms: int = NOW_MS) -> None:
        self.store = RememberingStore()
        self.store.server_time_ms = redis_ms
        self._app = create_app(make_settings(), self.store, clock_ms=lambda: clock_ms)

    async def takes(self, *at_ms: int) -> int:
        items = [item(message={"mid": f"m{n}", "text": "Привет"}, timestamp=at) for n, at in enumerate(at_ms)]
        body = json.dumps(instagram(*items)).encode()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url="http://receiver") as client:
            return (await client.post("/webhooks/meta", content=body, headers=sign(body))).status_code

    @property
    def mids(self) -> list[str]:
        return [event.mid for event in self.store.events if isinstance(event, CustomerMessage)]


async def test_a_captured_body_is_acknowledged_and_answered_by_nobody(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    door = Door()

    assert await door.takes(OLD_MS, NOW_MS) == 200
    assert door.mids == ["m1"]
    assert TOO_OLD in door.store.events
    assert "too_old" in caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("clock_ms", "redis_ms"), [(NOW_MS + 72 * HOUR_MS, NOW_MS), (NOW_MS, NOW_MS + 72 * HOUR_MS)], ids=["ours", "redis"]
)
async def test_one_wrong_clock_refuses_no_customer(clock_ms: int, redis_ms: int) -> None:
    door = Door(clock_ms=clock_ms, redis_ms=redis_ms)

    assert await door.takes(NOW_MS - 1000) == 200
    assert door.mids == ["m0"]


async def test_without_redis_an_old_body_is_asked_for_again() -> None:
    door = Door()
    door.store.failure = StoreUnavailable("away")

    assert await door.takes(OLD_MS) == 503
