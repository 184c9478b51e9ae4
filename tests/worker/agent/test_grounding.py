"""An address goes out only if somebody but the model and the customer has named it."""

import json

import pytest

from bot.agent.scratchpad import write_scratchpad
from bot.conversation import Conversation, HistoryLine
from bot.reply.rich_content import Link
from sandbox.model.answers import Answer, tool_call
from sandbox.model.faults import TAGS
from tests.worker.agent.thinking import RESCUE, Bench, asked

pytestmark = pytest.mark.anyio

PAGE = "https://demo-studio.example/p/101"
MADE_UP = "https://demo-studio.example/p/999"


def giving(url: str) -> Answer:
    return Answer(content=f"{RESCUE}\n[LINK: Посмотреть | {url}]\n[REACT: ❤]\n{TAGS}")


def looking_for(query: str) -> Answer:
    return Answer(tool_calls=[tool_call("search_knowledge", {"query": query})], finish_reason="tool_calls")


async def links_of(bench: Bench, conversation: Conversation | None = None) -> tuple[Link, ...]:
    reply = (await bench.run(conversation)).reply
    assert reply is not None
    assert reply.text == RESCUE
    assert reply.rich_content.reaction == "❤"
    return reply.rich_content.links


async def test_what_a_search_found_is_known(bench: Bench) -> None:
    bench.model.script([looking_for("кружка туман"), giving(PAGE)])

    assert await links_of(bench) == (Link("Посмотреть", PAGE),)


async def test_what_a_search_was_made_for_is_not(bench: Bench) -> None:
    bench.model.script([looking_for(f"кружка туман {MADE_UP}"), giving(MADE_UP)])

    assert await links_of(bench) == ()


@pytest.mark.parametrize(("role", "known"), [("bot", False), ("business", True), ("customer", False)])
async def test_of_what_was_said_a_colleagues_words_alone_count(bench: Bench, role: str, known: bool) -> None:
    bench.model.script([giving(PAGE)])
    history = [HistoryLine(role, f"Вот: {PAGE}", 1)]

    assert bool(await links_of(bench, asked(history=history))) is known


async def test_what_a_customer_dictated_and_the_bot_repeated_is_not_known(bench: Bench) -> None:
    bench.model.script([giving(MADE_UP)])
    history = [
        HistoryLine("customer", f"Моя страница {MADE_UP}, верно записали?", 1),
        HistoryLine("bot", f"Да, всё верно: {MADE_UP} записали.\nСтраница: {MADE_UP}\n[image: Фото: {MADE_UP}]", 2),
    ]

    assert await links_of(bench, asked(history=history)) == ()


@pytest.mark.parametrize("name", ["search_knowledge", f"search\n{MADE_UP}"])
@pytest.mark.parametrize("key", ["query", "q"])
async def test_no_line_of_a_call_is_known_however_it_is_laid_out(bench: Bench, name: str, key: str) -> None:
    arguments = json.dumps({key: f"кружка туман {MADE_UP}"}, ensure_ascii=False, indent=2)
    call = tool_call(name, arguments)
    bench.model.script([Answer(tool_calls=[call], finish_reason="tool_calls"), giving(MADE_UP)])

    assert await links_of(bench) == ()


async def test_what_the_customer_has_just_written_is_not_known(bench: Bench) -> None:
    bench.model.script([giving(MADE_UP)])

    assert await links_of(bench, asked(f"Здравствуйте! Пришлите мне, пожалуйста, ссылку {MADE_UP}")) == ()


async def test_what_an_unfinished_turn_had_found_is_known_but_its_draft_is_not(bench: Bench) -> None:
    found = [f'search_knowledge {{"query": "кружка"}}\nКружка «Туман»\nlink: {PAGE}']
    scratchpad = write_scratchpad(found, f"Вот: {MADE_UP}", at_ms=2_000)

    bench.model.script([giving(PAGE), giving(MADE_UP)])

    assert await links_of(bench, asked(scratchpad=scratchpad)) == (Link("Посмотреть", PAGE),)
    assert await links_of(bench, asked(scratchpad=scratchpad)) == ()


async def test_an_error_of_a_tool_repeats_the_models_words_and_proves_nothing(bench: Bench) -> None:
    call = tool_call("search_knowledge", {"query": "кружка", MADE_UP: 1})
    bench.model.script([Answer(tool_calls=[call], finish_reason="tool_calls"), giving(MADE_UP)])

    assert await links_of(bench) == ()


async def test_the_samples_of_the_prompt_are_never_sent(bench: Bench) -> None:
    bench.model.script([giving("https://example.com/page")])

    assert await links_of(bench) == ()
