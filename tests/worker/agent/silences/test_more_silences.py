"""Odd shapes and dialects of real servers, each played once and for good through the real agent."""

import pytest

from sandbox.model.faults import FAULTS, GOOD_TEXT, TAGS
from sandbox.model.habits import HABITS
from tests.worker.agent.silences.catalogue import FALLBACK, KICKED, MALFORMED, REPEATED, Fit, Row, rungs
from tests.worker.agent.thinking import RESCUE, Bench, good

pytestmark = pytest.mark.anyio

HELLO = Fit(GOOD_TEXT.removesuffix(TAGS).strip())
SYNTAX = Row("tool_syntax", KICKED)
MARKUP = Row("markup_only", KICKED)
SENTINEL = Row("sentinel", KICKED)
LANGUAGE = Row("wrong_language", KICKED)
LOCK = Row("reasoning_lock", KICKED)
MACHINE = Row("machine_text", KICKED)
GARBLED = Row("garbled", FALLBACK)

ENDS: dict[str, Row | Fit] = {
    "parts_of_blanks": Row("zero_width", KICKED),
    "text_as_object": HELLO,
    "number_for_text": LOCK,
    "no_message": LOCK,
    "text_of_completions": HELLO,
    "details_only": LOCK,
    "thinking_field": LOCK,
    "finish_eos": HELLO,
    "finish_end_turn": HELLO,
    "finish_max_tokens": Row("length_cut", KICKED),
    "finish_max_tokens_silent": Row("budget_eaten", KICKED),
    "finish_safety": Row("content_filter", FALLBACK),
    "event_names": HELLO,
    "split_letters": HELLO,
    "text_that_grows": HELLO,
    "chunks_twice": GARBLED,
    "usage_only": MALFORMED,
    "role_then_nothing": Row("cut", REPEATED),
    "role_then_done": Row("true_empty", REPEATED),
    "plain_text_stream": MALFORMED,
    "gzip": HELLO,
    "bom": HELLO,
    "json_lines": MALFORMED,
    "one_tag": Row("tags_only", KICKED),
    "ellipsis": MARKUP,
    "end_token": SYNTAX,
    "label_only": MARKUP,
    "fenced_object": MARKUP,
    "tracking_pixel": MARKUP,
    "image_tag": MARKUP,
    "no_reply_needed": SENTINEL,
    "no_reply_needed_ru": SENTINEL,
    "nothing_to_add": SENTINEL,
    "call_hermes": SYNTAX,
    "call_qwen": SYNTAX,
    "call_glm": SYNTAX,
    "call_kimi": SYNTAX,
    "call_mistral": SYNTAX,
    "call_mistral_args": SYNTAX,
    "call_llama": SYNTAX,
    "call_gemma": SYNTAX,
    "call_python": SYNTAX,
    "call_react": SYNTAX,
    "parrot": Row("parrot", KICKED),
    "one_megabyte": Row("too_long", KICKED),
    "english_apology": LANGUAGE,
    "chinese_ok": LANGUAGE,
    "arabic_yes": LANGUAGE,
    "ai_model": Row("refusal", FALLBACK),
    "ai_model_ru": Row("refusal", FALLBACK),
    "html_page": MACHINE,
    "proxy_words": MACHINE,
    "overloaded_words": MACHINE,
    "emoji_flood": Row("loop", FALLBACK),
    "base64": GARBLED,
    "zalgo": GARBLED,
    "template": Row("placeholder", KICKED),
    "error_words_ru": MACHINE,
    "other_name": Row("identity", KICKED),
    "ready_to_serve": Row("monologue", KICKED),
    "staged_search": SYNTAX,
    "blank_name": Row("placeholder", KICKED),
    "presented": HELLO,
    "presented_ru": HELLO,
    "both_sides": Row("both_sides", KICKED),
    "internal_note": Row("monologue", KICKED),
    "escaped_letters": HELLO,
    "escaped_lines": Fit("Здравствуйте!\n\nРада помочь с выбором."),
    "role_line": HELLO,
    "answer_element": HELLO,
    "message_object": HELLO,
    "next_turn": HELLO,
    "pixel_beside_words": HELLO,
}
ELSEWHERE = {"legacy_call"}


def test_no_habit_is_forgotten() -> None:
    assert HABITS.keys() == ENDS.keys() | ELSEWHERE
    assert HABITS.keys().isdisjoint(FAULTS)


@pytest.mark.parametrize("name", ENDS)
async def test_once_ends_in_a_fit_reply(bench: Bench, name: str) -> None:
    bench.model.script([HABITS[name]])
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is not None
    end = ENDS[name]
    if isinstance(end, Fit):
        assert result.reply.text == end.text
        assert rungs(result) == ("main",)
        return
    assert result.reply.text == RESCUE
    assert rungs(result) == tuple(end.rungs[:2])
    assert [a.rule for a in result.attempts] == [end.rule, "ok"]


@pytest.mark.parametrize("name", [name for name, end in ENDS.items() if isinstance(end, Row)])
async def test_for_good_ends_in_the_stub(bench: Bench, name: str) -> None:
    end = ENDS[name]
    assert isinstance(end, Row)
    bench.model.play_for_good(HABITS[name])

    result = await bench.run()

    assert result.reply is None
    assert result.rule == end.rule
    assert rungs(result) == tuple(end.rungs)
    assert len(bench.model.requests) == len(result.attempts)


async def test_a_call_as_it_was_written_before_tools_is_made(bench: Bench) -> None:
    bench.model.script([HABITS["legacy_call"]])
    bench.model.play_for_good(good())

    result = await bench.run()

    assert result.reply is not None
    assert [a.verdict for a in result.attempts] == ["tool_step", "call_failed", "success"]
    assert "search_knowledge" in bench.model.requests[-1]["messages"][-1]["content"]


async def test_a_long_reply_is_cut_after_a_whole_sentence(bench: Bench) -> None:
    sentence = "Кружка номер {} стоит {} рублей и есть в наличии."
    text = " ".join(sentence.format(n, 1000 + 7 * n) for n in range(200))
    bench.model.play_for_good(f"{text}\n{TAGS}")

    result = await bench.run()

    assert result.reply is not None
    assert result.rule == "too_long"
    assert len(result.reply.text) <= 4000
    assert text.startswith(result.reply.text)
    assert result.reply.text.endswith("в наличии.")
