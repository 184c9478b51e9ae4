"""Our account's words before the customer's first ones: an ad's greeting, or a human who begins."""

import pytest

from bot.incoming.events import (
    Echo,
)
from runtime.clock import now_ms
from tests.store.telling import answered
from tests.store.turns.takeover.bench import CONTACT, Bench, control, human, message

pytestmark = pytest.mark.anyio


# Our account's words before the customer's first ones: an ad's greeting, or a human who begins.
CARD = {"text": "", "notes": ("[card: Здравствуйте!]",), "attached": ("template",)}


def greeting(mid: str, at_ms: int, **more: object) -> Echo:
    return Echo(CONTACT, mid, at_ms, **{**CARD, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [{}, {"text": "Здравствуйте!", "notes": (), "attached": ()}])
async def test_a_greeting_right_before_the_first_words_does_not_keep_the_bot_out(
    bench: Bench, words: dict[str, object]
) -> None:
    now = now_ms()
    await bench.receive(greeting("g1", now - 700, **words))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert await bench.field("takeover_until") == ""
    assert [role for role, _ in await bench.history()] == ["business"]
    assert await bench.scripts.command("HGET", "ns:events", "automatic_greeting") == "1"


async def test_a_greeting_of_two_parts_is_one(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(greeting("g1", now - 900), greeting("g2", now - 800), message("m1", at_ms=now))

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_a_greeting_whose_webhook_comes_after_the_first_words_does_not_either(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(message("m1", at_ms=now))

    await bench.receive(greeting("g1", now - 700))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert await bench.field("takeover_until") == ""


async def test_a_greeting_that_was_read_back_does_not_either(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(message("m1", at_ms=now), greeting("g1", now - 700, found="look_back"))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert [role for role, _ in await bench.history()] == ["business"]


async def test_a_human_who_begins_keeps_the_conversation(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(human("h1", "Вы вчера спрашивали о зале: он свободен", at_ms=now - 120_000))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.due() == ()
    assert await bench.field("hold_reason") == "human"


async def test_a_human_who_goes_on_writing_until_the_answer_comes_keeps_it_as_well(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(human("h1", at_ms=now - 120_000), human("h2", "Ждём вас", at_ms=now - 2000))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.field("hold_reason") == "human"


async def test_a_humans_words_late_told_of_do_not_become_a_greeting(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(human("h1", at_ms=now - 120_000), message("m1", at_ms=now))

    await bench.receive(greeting("h2", now - 2000))

    assert await bench.silences() == ["human_answered"]
    assert await bench.field("takeover_until")  # was_greeted would have taken it away


async def test_words_in_a_conversation_that_has_had_words_are_no_greeting(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(message("m1", at_ms=now - 600_000))
    lease, conversation = await bench.claim()
    await answered(bench.scripts, bench.settings, lease, conversation)
    await bench.receive(human("h1", at_ms=now - 700))

    await bench.receive(message("m2", at_ms=now))

    assert await bench.field("hold_reason") == "human"


async def test_a_thread_that_people_take_is_not_given_back_by_a_greeting(bench: Bench) -> None:
    now = now_ms()
    await bench.receive(greeting("g1", now - 900), control("take", "999"))

    await bench.receive(message("m1", at_ms=now))

    assert await bench.field("hold_reason") == "human"


async def test_a_greeting_without_words_after_it_is_kept_no_longer_than_anything(bench: Bench) -> None:
    await bench.receive(greeting("g1", now_ms()))

    keys = await bench.scripts.command("KEYS", f"ns:c:{CONTACT.conversation_id}*")
    assert keys
    assert all([await bench.scripts.command("PTTL", key) > 0 for key in keys])
