"""What was found is told from what was asked for, and an address is found as a whole or not at all."""

import pytest

from bot.agent.scratchpad import MAX_BYTES, read_scratchpad, results_of, write_scratchpad
from bot.agent.transcript import TRIMMED_RESULT_CHARS, Transcript
from bot.conversation import HistoryLine, OpenMessage, PartKind
from bot.model_output import ToolCall
from bot.reply.rich_content import Attachment, Link, RichContent, keep_grounded
from bot.text.urls import addresses_in

PAGE, MADE_UP = "https://shop.example/p/101", "https://shop.example/p/999"
OFFERED = RichContent((Link("Да", MADE_UP),), (Attachment(PartKind.IMAGE, MADE_UP),))


def found_by(name: str, arguments: str, result: str) -> Transcript:
    transcript = Transcript((), ())
    transcript.add_tool_step({}, [ToolCall("call_1", name, arguments)], [result])
    return transcript


@pytest.mark.parametrize("name", ["search", f"search\n{MADE_UP}", f"search\r\n\u2028{MADE_UP}\n"])
@pytest.mark.parametrize(
    "arguments", [f'{{\n  "query": "{MADE_UP}"\n}}', f"\n\n{MADE_UP}", f'{{"query": "{MADE_UP}"}}', f"a\x0b{MADE_UP}\n"]
)
@pytest.mark.parametrize("result", ["Nothing found.", f"Error: there is no {MADE_UP}.\nValid tools: {MADE_UP}", ""])
def test_no_line_of_a_call_counts_as_found(name: str, arguments: str, result: str) -> None:
    found = found_by(name, arguments, result).found
    kept = read_scratchpad(write_scratchpad(found, f"Вот: {MADE_UP}", at_ms=1), now_ms=2)
    again = Transcript((), (), found_earlier=kept)
    again.trim()

    for told in (found, kept, again.found):
        assert not keep_grounded(OFFERED, results_of(told))


def test_what_a_tool_said_counts_as_found() -> None:
    found = found_by("search\n", '{\n"query": "кружка"\n}', f"Кружка\nlink: {MADE_UP}").found

    assert keep_grounded(OFFERED, results_of(found)) == OFFERED


@pytest.mark.parametrize("kept", range(1, len(PAGE) + 1))
def test_an_address_cut_by_trimming_is_none(kept: int) -> None:
    before = "search {}\n" + "ж" * (TRIMMED_RESULT_CHARS - 11 - kept) + " "
    transcript = Transcript((), (), found_earlier=[f"{before}{PAGE}/more"])

    transcript.trim()

    assert addresses_in(transcript.found) == frozenset()
    assert len(transcript.found[0]) <= TRIMMED_RESULT_CHARS


@pytest.mark.parametrize("length", range(MAX_BYTES // 2 - 120, MAX_BYTES // 2))
def test_an_address_cut_by_the_scratchpad_is_none(length: int) -> None:
    text = f"search {{}}\n{'a' * length} {PAGE}{'/more' * 2000}"

    found = read_scratchpad(write_scratchpad([text], "", at_ms=1), now_ms=2)

    assert len(found) == 1
    assert addresses_in(found) == frozenset()


def test_the_messages_of_one_reply_are_one_line_for_the_model() -> None:
    history = [
        HistoryLine("bot", "Первая часть.", 5),
        HistoryLine("bot", "Вторая часть.", 5),
        HistoryLine("bot", "Другой ответ.", 9),
    ]

    messages = Transcript(history, [OpenMessage("k", "m", 10, 10, "Ещё?")]).messages("system")

    assert messages[1] == {"role": "assistant", "content": "Первая часть.\nВторая часть.\n\nДругой ответ."}
