"""What a customer changes or takes back is neither answered as it was nor kept."""

import asyncio
from typing import Any

import orjson
import pytest

from sandbox.meta.faults import Fault
from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.faults import TAGS
from sandbox.patience import PATIENCE_SECONDS
from tests.worker.turning import TurnBench

pytestmark = pytest.mark.anyio
TRANSIENT = Fault("refuse", code=2, subcode=1545133, status=500)
CARD = "4276 1234 5678 9012"
LONG = """Да, карты мы принимаем, но номер в переписке лучше не оставлять: оплатить можно при получении.
Кружка «Туман» вылеплена вручную, поэтому каждая немного отличается оттенком и формой ручки.
Глазурь пищевая, её можно ставить в посудомоечную машину и греть в микроволновке без опаски.
Если хочется подарок, соберём набор: кружка, блюдце, открытка и коробка с тёплой бумагой внутри.
Доставка по городу занимает день, в другие города обычно от трёх до пяти дней с отслеживанием.
Посмотреть всё вживую можно в мастерской, там же проходят занятия для начинающих по выходным.
Расскажите, для кого выбираете и какой цвет нравится, тогда подскажу точнее и отложу подходящую."""


def asked(turns: TurnBench) -> str:
    """All that the model was sent last."""
    return orjson.dumps(turns.model.requests[-1]).decode()


@pytest.mark.parametrize("change", ["edits", "takes_back"])
async def test_a_reply_that_waits_goes_when_what_it_answers_changes(turns: TurnBench, change: str) -> None:
    await turns.writes("a", "Добрый день, вы сегодня работаете?")
    await turns.writes("b", f"Моя карта {CARD}, верно?")
    turns.answers(f"Да, карта {CARD} верна.", "Да, мы работаем.")
    turns.meta.fault_for(turns.contact.customer_id, TRANSIENT)
    assert await turns.turn() == "waits: transient"

    if change == "edits":
        await turns.edits("b", "Моя карта при мне, верно?")
    else:
        await turns.takes_back("b")
    word = await turns.turn()

    assert word.startswith("answered")
    assert turns.read == ["Да, мы работаем."]
    assert CARD not in asked(turns)
    assert await turns.is_kept_anywhere(CARD) == []


async def test_a_change_while_the_part_is_on_its_way_counts_when_it_did_not_arrive(turns: TurnBench) -> None:
    await turns.writes("a", "Добрый день, вы сегодня работаете?")
    await turns.writes("b", f"Моя карта {CARD}, верно?")
    turns.answers(f"Да, карта {CARD} верна.", "Да, мы работаем.")
    turns.meta.fault_for(turns.contact.customer_id, TRANSIENT)
    await turns.turn()
    plan = f"ns:c:{turns.cid}:plan"
    await turns.scripts.command("HSET", plan, "0:state", "sending")
    await turns.takes_back("b")
    on_its_way = await turns.books()
    await turns.scripts.command("HSET", plan, "0:state", "failed")

    word = await turns.turn()

    assert on_its_way == {"received": 2, "open": 2}, "its reply may be arriving"
    assert word.startswith("answered")
    assert turns.read == ["Да, мы работаем."]
    assert await turns.books() == {"received": 2, "answered": 1, "silenced": 1}
    assert await turns.is_kept_anywhere(CARD) == []


async def test_a_message_taken_back_between_two_parts_ends_with_its_reply_and_leaves_no_words(
    turns: TurnBench,
) -> None:
    await turns.writes("a", f"Моя карта {CARD}, верно?")
    turns.answers(LONG)
    turns.meta.fault_for(turns.contact.customer_id, Fault("slow"), TRANSIENT)
    assert await turns.turn() == "waits: transient"
    assert len(turns.read) == 1

    await turns.takes_back("a")
    word = await turns.turn()

    assert word.startswith("answered")
    assert len(turns.read) > 1
    assert await turns.books() == {"received": 1, "answered": 1}
    assert {role for role, _ in await turns.history()} == {"bot"}
    assert await turns.is_kept_anywhere(CARD) == []


async def test_a_message_edited_between_two_parts_is_kept_as_it_is_now(turns: TurnBench) -> None:
    await turns.writes("a", f"Моя карта {CARD}, верно?")
    turns.answers(LONG)
    turns.meta.fault_for(turns.contact.customer_id, Fault("slow"), TRANSIENT)
    await turns.turn()

    await turns.edits("a", "Моя карта при мне, верно?")
    word = await turns.turn()

    assert word.startswith("answered")
    assert (await turns.history())[0] == ("customer", "Моя карта при мне, верно?")
    assert await turns.is_kept_anywhere(CARD) == []


@pytest.mark.parametrize("change", ["edits", "takes_back"])
async def test_a_change_that_comes_while_the_last_part_is_sent_is_kept_as_it_is_now(
    turns: TurnBench, change: str
) -> None:
    """The turn has read the old words, and writes them into the history at its end."""
    await turns.writes("a", f"Моя карта {CARD}, верно?")
    turns.answers("Да, верно.")
    turns.meta.fault_for(turns.contact.customer_id, Fault("slow", seconds=0.5))
    running = asyncio.create_task(turns.turn())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await turns.plan()).get("0:state") != "sending":
            await asyncio.sleep(0.01)
    if change == "edits":
        await turns.edits("a", "Моя карта при мне, верно?")
    else:
        await turns.takes_back("a")
    word = await running

    assert word.startswith("answered")
    assert await turns.books() == {"received": 1, "answered": 1}
    said = [("customer", "Моя карта при мне, верно?")] if change == "edits" else []
    assert await turns.history() == [*said, ("bot", "Да, верно.")]
    assert await turns.is_kept_anywhere(CARD) == []


async def test_a_newer_message_taken_back_while_an_older_one_is_answered_is_not_answered(turns: TurnBench) -> None:
    await turns.writes("a", "Добрый день, вы сегодня работаете?")
    turns.answers(LONG)
    turns.meta.fault_for(turns.contact.customer_id, Fault("slow"), TRANSIENT)
    await turns.turn()

    await turns.writes("b", CARD)
    await turns.takes_back("b")
    await turns.turn()

    assert await turns.books() == {"received": 2, "answered": 1, "silenced": 1}
    assert await turns.is_kept_anywhere(CARD) == []


async def test_an_answered_message_that_is_taken_back_is_forgotten(turns: TurnBench) -> None:
    await turns.writes("a", f"Моя карта {CARD}, верно?")
    turns.answers("Да, всё верно.", "Кружка стоит 1900 рублей.")
    await turns.turn()
    kept = await turns.is_kept_anywhere(CARD)

    await turns.takes_back("a")
    await turns.writes("b", "А сколько стоит кружка?")
    await turns.turn()

    assert kept != []
    assert await turns.is_kept_anywhere(CARD) == []
    assert CARD not in asked(turns)
    assert await turns.history() == [
        ("bot", "Да, всё верно."),
        ("customer", "А сколько стоит кружка?"),
        ("bot", "Кружка стоит 1900 рублей."),
    ]
    assert await turns.books() == {"received": 2, "answered": 2}


async def test_an_edit_replaces_the_line_of_an_answered_message(turns: TurnBench) -> None:
    await turns.writes("a", f"Моя карта {CARD}, верно?")
    turns.answers("Да, всё верно.")
    await turns.turn()

    await turns.edits("a", "Мой телефон при мне 😊", 2)
    await turns.edits("a", f"Карта {CARD}", 1)  # it comes late

    assert await turns.history() == [("customer", "Мой телефон при мне 😊"), ("bot", "Да, всё верно.")]
    assert await turns.is_kept_anywhere(CARD) == []


async def test_lines_that_an_older_version_wrote_are_read(turns: TurnBench) -> None:
    line = orjson.dumps({"role": "customer", "text": "Я Анна, люблю синий", "at": 1790000000001}).decode()
    await turns.scripts.command("RPUSH", f"ns:c:{turns.cid}:history", line)
    await turns.writes("a", "Добрый день, вы сегодня работаете?")
    turns.answers("Да, мы работаем.")

    await turns.turn()
    await turns.takes_back("a")

    assert "люблю синий" in asked(turns)
    assert await turns.history() == [("customer", "Я Анна, люблю синий"), ("bot", "Да, мы работаем.")]


@pytest.mark.parametrize("change", ["edits", "takes_back"])
async def test_a_change_while_the_model_thinks_starts_the_turn_again(turns: TurnBench, change: str) -> None:
    """And what was looked up for the old words goes with them."""
    await turns.writes("a", "Добрый день, вы сегодня работаете?")
    await turns.writes("b", f"Моя карта {CARD}, верно?")

    def slowly(request: ChatRequest) -> Any:
        return Answer(content=f"Да, карта {CARD} верна.\n{TAGS}", delay_seconds=0.6).response(request)

    look_up = Answer(tool_calls=[tool_call("search_knowledge", {"query": CARD})], finish_reason="tool_calls")
    turns.model.script([look_up, slowly, f"Да, мы работаем.\n{TAGS}"])
    running = asyncio.create_task(turns.turn())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(turns.model.requests) < 2:
            await asyncio.sleep(0.01)
    if change == "edits":
        await turns.edits("b", "Моя карта при мне, верно?")
    else:
        await turns.takes_back("b")
    word = await running

    assert word.startswith("answered")
    assert turns.read == ["Да, мы работаем."]
    assert CARD not in asked(turns)
    assert await turns.is_kept_anywhere(CARD) == []


async def test_the_scratchpad_and_the_reasoning_of_a_failed_turn_go_with_the_words(turns: TurnBench) -> None:
    await turns.writes("a", f"Моя карта {CARD}, верно?")
    look_up = Answer(tool_calls=[tool_call("search_knowledge", {"query": CARD})], finish_reason="tool_calls")
    turns.model.script([look_up])
    turns.model.play_for_good(Answer(content="", reasoning=f"Клиент дал карту {CARD}. " * 30))
    await turns.turn()
    kept = await turns.is_kept_anywhere(CARD)
    assert any("thoughts" in name for name in kept)
    assert f"ns:c:{turns.cid}" in kept, "the scratchpad"

    await turns.takes_back("a")

    assert await turns.is_kept_anywhere(CARD) == []


async def test_topics_of_what_was_taken_back_go_from_the_telemetry(turns: TurnBench) -> None:
    await turns.writes("a", "Расскажите про ювелирные абракадабры, интересно")
    turns.model.script(["Конечно, расскажу.\n[VERDICT:CHAT:CHAT_ONLY] [TASK:NONE] [STAGE:CONSULT]"])
    await turns.turn()
    assert await turns.is_kept_anywhere("абракадабр") != []

    await turns.takes_back("a")

    assert await turns.is_kept_anywhere("абракадабр") == []


async def test_an_edit_that_came_ahead_of_its_message_goes_too(turns: TurnBench) -> None:
    await turns.edits("a", CARD)

    await turns.takes_back("a")
    await turns.writes("a", "Старые слова")

    assert await turns.is_kept_anywhere(CARD) == []
    assert await turns.books() == {"received": 1, "silenced": 1}


async def test_whoever_keeps_changing_their_words_is_answered_in_the_end(turns: TurnBench) -> None:
    await turns.writes("a", "Кружка 0")
    edits = 0

    def and_is_changed(request: ChatRequest) -> Any:
        return Answer(content=f"Ответ про кружку.\n{TAGS}", delay_seconds=0.2).response(request)

    turns.model.play_for_good(and_is_changed)
    running = asyncio.create_task(turns.turn())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not running.done():
            if len(turns.model.requests) > edits:
                edits += 1
                await turns.edits("a", f"Кружка {edits}", edits)
            await asyncio.sleep(0.01)

    assert await running == "waits: changed"
    assert turns.read == []
    assert (await turns.turn()).startswith("answered")


async def test_a_message_taken_back_while_the_model_thinks_ends_its_turn_without_a_fault(turns: TurnBench) -> None:
    await turns.writes("a")

    def slowly(request: ChatRequest) -> Any:
        return Answer(content=f"Сто рублей.\n{TAGS}", delay_seconds=0.6).response(request)

    turns.model.script([slowly])
    running = asyncio.create_task(turns.turn())
    async with asyncio.timeout(20):
        while not turns.model.requests:
            await asyncio.sleep(0.01)
    await turns.takes_back("a")

    assert await running == "nothing"
    assert turns.read == []
    assert await turns.books() == {"received": 1, "silenced": 1}
    state = await turns.state()
    assert state["state"] == "rest"
    assert "failures" not in state
