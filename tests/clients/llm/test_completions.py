from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model_output import Completion, ToolCall
from clients.llm.completions import CompletionDraft, Progress, parse_json
from clients.llm.stream_text import joined


def event(delta: Any = None, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **choice}]}


def read(*bodies: Any, whole: bool = False) -> Completion:
    draft = CompletionDraft()
    for body in bodies:
        draft.add(body, whole=whole)
    return draft.completion(complete=True, seconds=1, first_byte_seconds=1, generation_id="gen-header")


def calls(*deltas: dict[str, Any]) -> tuple[ToolCall, ...]:
    return read(*(event({"tool_calls": [delta]}) for delta in deltas)).tool_calls


def test_thoughts_kept_in_content_parts_are_not_said() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}

    completion = read(event({"content": [thinking]}), event({"content": "Hello!"}))

    assert (completion.content, completion.reasoning) == ("Hello!", "Hm.")


def test_parts_of_a_whole_message_are_replayed_as_parts() -> None:
    parts = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "!"}]

    completion = read({"choices": [{"message": {"content": parts}}]}, whole=True)

    assert completion.content == "Hello!"
    assert completion.raw_message["content"] == parts


def test_reasoning_is_the_first_field_that_holds_any() -> None:
    delta = {
        "reasoning_content": "",
        "reasoning": "Hm.",
        "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}],
    }

    completion = read(event(delta))

    assert completion.reasoning == "Hm."
    assert completion.raw_message["reasoning_content"] == ""


def test_reasoning_details_come_back_as_they_were() -> None:
    completion = read(
        event({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "I thi", "format": "x"}]}),
        event({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "nk", "signature": None}]}),
        event({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "", "signature": "sig"}]}),
        event({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "AAA", "id": "e1"}]}),
        event({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "BBB", "id": "e2"}]}),
    )

    assert completion.raw_message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "I think", "format": "x", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "AAA", "id": "e1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "BBB", "id": "e2"},
    ]
    assert completion.reasoning == "I think"


def test_an_empty_list_of_details_is_kept() -> None:
    assert read(event({"reasoning_details": []})).raw_message["reasoning_details"] == []


def test_arguments_grow_by_index() -> None:
    assert calls(
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"y"'}},
        {"index": 0, "function": {"arguments": '{"x": 1}'}},
        {"index": 1, "function": {"arguments": ": 2}"}},
    ) == (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", '{"y": 2}'))


def test_arguments_grow_without_any_index() -> None:
    assert calls(
        {"id": "a", "function": {"name": "f", "arguments": '{"x"'}},
        {"function": {"arguments": ": 1}"}},
        {"id": "b", "function": {"name": "f", "arguments": "{}"}},
    ) == (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "f", "{}"))


def test_neither_index_nor_id_still_tells_two_calls_apart() -> None:
    assert calls(
        {"function": {"name": "f", "arguments": '{"x": 1}'}},
        {"function": {"name": "f", "arguments": '{"x": 2}'}},
    ) == (ToolCall("call_1", "f", '{"x": 1}'), ToolCall("call_2", "f", '{"x": 2}'))


def test_every_parallel_call_at_index_zero_is_its_own() -> None:
    assert calls(
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"index": 0, "id": "b", "function": {"name": "g", "arguments": "{}"}},
    ) == (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))


def test_a_repeated_name_and_id_is_the_same_call() -> None:
    assert calls(
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}},
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "}"}},
    ) == (ToolCall("a", "f", "{}"),)


def test_doubled_ids_are_made_unique_on_both_sides() -> None:
    call = {"id": "same", "function": {"name": "f", "arguments": "{}"}}
    completion = read({"choices": [{"message": {"content": "", "tool_calls": [call, call]}}]}, whole=True)

    assert [c.id for c in completion.tool_calls] == ["same", "call_2"]
    assert [c["id"] for c in completion.raw_message["tool_calls"]] == ["same", "call_2"]


def test_arguments_given_as_an_object_become_text() -> None:
    assert calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}})[0].arguments == '{"x":1}'


def test_a_vendors_signature_on_a_call_is_replayed() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    completion = read(
        event({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}, "extra_content": extra}]})
    )

    assert completion.raw_message["tool_calls"][0]["extra_content"] == extra


def test_a_cut_answer_gives_out_no_calls() -> None:
    draft = CompletionDraft()
    draft.add(event({"content": "One moment", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]}))

    completion = draft.completion(complete=False, seconds=1, first_byte_seconds=1, generation_id="")

    assert completion.tool_calls == ()
    assert "tool_calls" not in completion.raw_message


def test_an_emoji_that_came_in_halves_is_whole_again() -> None:
    first = parse_json(b'{"choices": [{"delta": {"content": "Hi \\ud83d"}}]}')
    second = parse_json(b'{"choices": [{"delta": {"content": "\\ude00"}}]}')

    assert read(first, second).content == "Hi 😀"


def test_a_last_event_with_the_whole_message_is_not_said_twice() -> None:
    final = {"choices": [{"index": 0, "message": {"content": "Hello!"}, "finish_reason": "stop"}]}

    assert read(event({"content": "Hello!"}), final).content == "Hello!"
    assert read(final).content == "Hello!"


def test_another_choice_is_another_answer() -> None:
    assert (
        read(event({"content": "Hello!"}), {"choices": [{"index": 1, "delta": {"content": "Bye!"}}]}).content
        == "Hello!"
    )


def test_the_header_id_stands_in_for_a_missing_one() -> None:
    assert read(event({"content": "x"})).generation_id == "gen-header"
    assert read({**event({"content": "x"}), "id": "gen-body"}).generation_id == "gen-body"


@pytest.mark.parametrize(
    ("body", "progress"),
    [
        (event({"content": "word"}), Progress.WORDS),
        (event({"tool_calls": [{"index": 0, "function": {"name": "f"}}]}), Progress.WORDS),
        (event({"refusal": "No."}), Progress.WORDS),
        (event({"role": "assistant", "content": ""}), Progress.DELTA),
        (event({"content": "\n\n"}), Progress.DELTA),
        (event({"reasoning": "Hm."}), Progress.DELTA),
        (event({}), Progress.DELTA),
        ({"choices": [], "usage": {"prompt_tokens": 1}}, Progress.NOTHING),
        ({"choices": None}, Progress.NOTHING),
        ({"choices": [None]}, Progress.NOTHING),
        ({}, Progress.NOTHING),
        (None, Progress.NOTHING),
        ("text", Progress.NOTHING),
    ],
)
def test_progress_is_told_apart(body: Any, progress: Progress) -> None:
    assert CompletionDraft().add(body) is progress


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "cost": "0.01"}, (10, 0, 5, 0, 0.01)),
        ({"input_tokens": 10, "output_tokens": 5, "prompt_cache_hit_tokens": 4}, (10, 4, 5, 0, None)),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}, (0, 0, 9, 7, None)),
        ({"completion_tokens": -1, "prompt_tokens": "x", "cost": float("nan"), "prompt_tokens_details": None},
         (0, 0, 1, 0, None)),
        ({"prompt_tokens": True, "completion_tokens": None}, (0, 0, 1, 0, None)),
    ],
)  # fmt: skip
def test_usage_is_read_under_any_name(raw: dict[str, Any], expected: tuple[Any, ...]) -> None:
    usage = read({**event({"content": "word"}), "usage": raw}).usage

    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.reasoning_tokens, usage.cost) == (
        expected
    )


def test_reasoning_tokens_are_estimated_when_the_server_hides_them() -> None:
    body = {**event({"reasoning": "x" * 40, "content": "word"}), "usage": {"completion_tokens": 11}}

    assert read(body).usage.reasoning_tokens == 10


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
DELTA_KEYS = ("content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls", "refusal")
deltas = st.dictionaries(st.sampled_from(DELTA_KEYS), json_values, max_size=4)
calls_of_any_kind = st.lists(
    st.dictionaries(st.sampled_from(("id", "index", "function", "type")), json_values, max_size=4), max_size=3
)


@given(st.lists(st.one_of(json_values, deltas.map(event)), max_size=5), st.booleans())
def test_no_shape_of_json_breaks_the_reader(bodies: list[Any], whole: bool) -> None:
    assert isinstance(read(*bodies, whole=whole).content, str)


@given(st.lists(calls_of_any_kind, max_size=4))
def test_no_shape_of_calls_breaks_the_reader(batches: list[Any]) -> None:
    found = read(*(event({"tool_calls": batch}) for batch in batches)).tool_calls

    assert len({call.id for call in found}) == len(found)


SAID = "Да, кружка «Туман» есть: 1900 рублей.\n[STAGE:CONSULT]"


@pytest.mark.parametrize(
    "pieces",
    [
        [SAID[:9], SAID[9:30], SAID[30:], SAID],
        [SAID[:9], SAID[9:], f"\n{SAID}\n"],
        [SAID, SAID],
        [SAID[:9], SAID[:30], SAID],
        [SAID + SAID],
        [f"{SAID}\n\n{SAID}"],
        [SAID[:9], "", SAID[9:], SAID, ""],
    ],
)
def test_what_a_stream_repeats_is_said_once(pieces: list[str]) -> None:
    completion = read(*(event({"content": piece}) for piece in pieces), event({}, finish_reason="stop"))

    assert completion.content.strip() == SAID
    assert completion.raw_message["content"].strip() == SAID


def test_thoughts_that_a_stream_repeats_are_replayed_once() -> None:
    thought = "She asks for the price of a mug."

    completion = read(*(event({"reasoning_content": piece}) for piece in (thought[:9], thought[9:], thought)))

    assert completion.reasoning == completion.raw_message["reasoning_content"] == thought


@pytest.mark.parametrize("pieces", [["ха", "ха", "хаха"], ["1", "0", "10"], ["\n", "\n", "Да."], ["Да, да, ", "да!"]])
def test_words_that_are_alike_are_all_said(pieces: list[str]) -> None:
    assert read(*(event({"content": piece}) for piece in pieces)).content == "".join(pieces)


def test_arguments_that_come_again_as_a_whole_count_once() -> None:
    whole = '{"query": "mug"}'
    pieces = [{"index": 0, "id": "a", "function": {"name": "search", "arguments": whole[:5]}}]
    pieces += [{"index": 0, "function": {"arguments": piece}} for piece in (whole[5:], whole)]

    assert calls(*pieces) == (ToolCall("a", "search", whole),)


@given(st.lists(st.text(max_size=30), max_size=6))
def test_nothing_but_repetition_is_ever_lost(pieces: list[str]) -> None:
    said = read(*(event({"content": piece}) for piece in pieces)).content

    assert said in joined(pieces)
