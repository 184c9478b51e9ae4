from typing import Any

import orjson
import pytest

from bot.alerts.alert import Alert
from store.outboxes.alerts import AlertOutbox, packed
from store.scripts import Scripts

pytestmark = pytest.mark.anyio

OLD = """{"rule": "reasoning_lock", "detail": "", "told": true, "conversation": "c1", "channel": "instagram",
 "account": "17841400000000042", "waiting_since": 1790000000000, "last_message_at": 1790000000000,
 "first_at": 1790000000000, "count": 2, "delivered": 1, "message_id": "71", "tries": 0}"""


async def kept(scripts: Scripts, alert_id: str) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(await scripts.command("HGET", "ns:alerts", alert_id))
    return body


async def test_an_alert_of_the_version_before_is_read_whole_and_left_as_it_is(scripts: Scripts) -> None:
    await scripts.command("HSET", "ns:alerts", "c1:handover", OLD)

    waiting = await AlertOutbox(scripts).load("c1:handover")

    assert waiting is not None
    assert (waiting.message_id, waiting.delivered, waiting.is_delivered) == ("71", 1, False)
    assert waiting.alert == Alert(
        "reasoning_lock",
        told=True,
        conversation="c1",
        channel="instagram",
        account="17841400000000042",
        waiting_since=1790000000000,
        last_message_at=1790000000000,
        first_at=1790000000000,
        count=2,
    )
    assert await scripts.command("HGET", "ns:alerts", "c1:handover") == OLD


async def test_a_repeated_alert_takes_the_newer_words_and_the_older_beginning(scripts: Scripts) -> None:
    outbox = AlertOutbox(scripts)
    await outbox.raise_alert("a", Alert("no_worker", detail="1", first_at=5))
    await outbox.raise_alert("a", Alert("no_worker", detail="2", first_at=9))

    [waiting] = await outbox.waiting()

    assert waiting.alert == Alert("no_worker", detail="2", first_at=5, count=2)


@pytest.mark.parametrize(
    "body",
    [
        "no JSON",
        '"a text"',
        "[1, 2]",
        "{}",
        '{"rule": "no_worker", "count": null, "tries": "many"}',
        '{"rule": "no_worker", "count": true, "delivered": true, "tries": {}, "failing_at": [], "failing_since": "x"}',
        '{"rule": {"of": "a newer version"}, "count": -1, "message_id": 71, "news": [1]}',
    ],
)
async def test_a_body_that_the_scripts_would_fail_on_is_mended_settled_and_closed(scripts: Scripts, body: str) -> None:
    await scripts.command("HSET", "ns:alerts", "c1:handover", body)
    outbox = AlertOutbox(scripts)

    waiting = await outbox.load("c1:handover")
    assert waiting is not None
    await outbox.failed(waiting, again_in_seconds=1)
    await scripts.run("raise_alert", "", "c1:handover", packed(Alert("no_worker", first_at=5)))
    changed = await outbox.load("c1:handover")
    assert changed is not None

    assert (changed.alert.count, changed.tries, changed.is_delivered) == (2, 1, False)
    assert await outbox.delivered(changed, "71") == "delivered"
    assert await outbox.close("c1:handover", shown=2)


async def test_what_cannot_be_read_at_all_still_says_what_it_was_about(scripts: Scripts) -> None:
    await scripts.command("HSET", "ns:alerts", "c1:handover", "no JSON")

    [waiting] = await AlertOutbox(scripts).waiting()

    assert waiting.alert == Alert("alert_damaged", detail="c1:handover")


async def test_what_a_newer_version_wrote_beside_it_is_kept(scripts: Scripts) -> None:
    await scripts.command("HSET", "ns:alerts", "a", '{"rule": "x", "news": [1], "tries": "many"}')

    await AlertOutbox(scripts).load("a")

    assert await kept(scripts, "a") == {"rule": "x", "news": [1], "count": 1}
