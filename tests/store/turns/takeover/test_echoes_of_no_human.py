"""Echoes that are no human's: without anything in them, and Meta's automatic replies."""

from typing import Any

import pytest

from runtime.clock import now_ms
from runtime.settings import Settings, Shift
from store.scripts import Scripts
from tests.store.turns.takeover.bench import CONTACT, Bench, human, message

pytestmark = pytest.mark.anyio


async def test_an_echo_without_anything_in_it_takes_nothing_over(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", ""), human("h2", " \u200b"))

    assert await bench.due() == (CONTACT.conversation_id,)
    assert await bench.field("takeover_until") == ""
    assert await bench.history() == []
    assert await bench.scripts.command("HGET", "ns:events", "empty_echo") == "2"
    assert await bench.scripts.command("HGET", "ns:events", "foreign_echo") is None


@pytest.mark.parametrize(
    "more", [{"notes": ("[unsupported message]",)}, {"notes": ("[photo]",), "attached": ("image",)}]
)
async def test_what_a_human_sends_without_words_is_a_humans(bench: Bench, more: Any) -> None:
    await bench.receive(message("m1"), human("h1", "", **more))

    assert await bench.due() == ()
    assert await bench.field("hold_reason") == "human"


async def test_an_empty_echo_whose_words_are_told_of_later_counts_then(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", ""))

    await bench.receive(human("h1", "Здравствуйте, это Мария"))

    assert await bench.field("hold_reason") == "human"


async def test_an_empty_echo_that_was_read_back_takes_nothing_over(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", "", found="look_back"))

    assert await bench.field("takeover_until") == ""


# Meta's automatic replies.
def with_auto_replies(settings: Settings, seconds: float) -> Settings:
    shift = Shift(takeover_minutes=60, ignore_auto_replies_seconds=seconds)
    return settings.model_copy(update={"config": settings.config.model_copy(update={"shift": shift})})


@pytest.mark.parametrize(("after_ms", "is_automatic"), [(0, True), (4999, True), (5000, False), (-1, False)])
async def test_an_echo_right_after_the_customers_words_is_metas_own(
    scripts: Scripts, settings: Settings, after_ms: int, is_automatic: bool
) -> None:
    bench, at_ms = Bench(scripts, with_auto_replies(settings, 5)), now_ms()

    await bench.receive(message("m1", at_ms=at_ms), human("auto", "Спасибо, мы ответим", at_ms=at_ms + after_ms))

    assert (await bench.due() != ()) is is_automatic
    assert (await bench.field("takeover_until") == "") is is_automatic
    assert ("business", "Спасибо, мы ответим") in await bench.history()


async def test_nobody_is_taken_for_an_automaton_unless_configured(bench: Bench) -> None:
    at_ms = now_ms()
    await bench.receive(message("m1", at_ms=at_ms), human("h1", at_ms=at_ms))

    assert await bench.due() == ()
