"""Every known wording of a refusal finds its cure, and no other refusal finds one."""

from dataclasses import replace
from typing import Any

import pytest

from bot.agent.repairs import Repair
from bot.model_output import CallFault
from clients.llm.errors import refused_fields, sort_failure
from clients.llm.quirks import LEAST_ANSWER_TOKENS, ModelQuirks
from clients.llm.refusals import learned_from
from clients.llm.requests import OPTIONAL_FIELDS, ModelRequest
from tests.clients.llm.refusal import Refusal, openai, vllm
from tests.clients.llm.refusal_texts import CURED
from tests.clients.llm.unlearned_refusal_texts import OTHER

SYSTEM = {"role": "system", "content": "You are the assistant of an invented studio of ceramics."}
TOOL = {"type": "function", "function": {"name": "search_knowledge", "parameters": {"type": "object"}}}
HELLO = {"role": "user", "content": "Сколько стоит кружка? " * 50}
EVERYTHING = ModelRequest(
    "some/model", [SYSTEM, HELLO], tools=[TOOL], temperature=0.3, provider={"data_collection": "deny"}
)
CALL = {"id": "call_1", "type": "function", "function": {"name": "search_knowledge", "arguments": "{}"}}
STEP: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "Hm."},
    {"role": "tool", "tool_call_id": "call_1", "content": "Mug Mist"},
]
KINDS: dict[str, ModelRequest] = {
    "everything": EVERYTHING,
    "no thinking": replace(EVERYTHING, thinking="off"),
    "last step": replace(EVERYTHING, tool_choice="none"),
    "thoughts": replace(EVERYTHING, messages=[SYSTEM, HELLO, *STEP]),
    "assistant first": replace(EVERYTHING, messages=[SYSTEM, {"role": "assistant", "content": "Hello!"}, HELLO]),
}
NOW_MS = 1_800_000_000_000


def taught(refusal: Refusal, known: ModelQuirks | None = None) -> tuple[Repair, ModelQuirks]:
    known = known or ModelQuirks()
    request = known.fit(KINDS[refusal.asks], now_ms=NOW_MS)
    learned = learned_from(refusal.status, refusal.body, request, known.body(request), known, now_ms=NOW_MS)
    return (learned.repair, learned.quirks) if learned else (Repair.NONE, known)


@pytest.mark.parametrize("refusal", CURED, ids=lambda refusal: refusal.source)
def test_each_wording_finds_its_cure(refusal: Refusal) -> None:
    assert taught(refusal)[0] is refusal.cure


@pytest.mark.parametrize("refusal", OTHER, ids=lambda refusal: refusal.source)
def test_no_other_refusal_finds_one(refusal: Refusal) -> None:
    assert taught(refusal)[0] is Repair.NONE


@pytest.mark.parametrize("refusal", [r for r in CURED if r.limit], ids=lambda refusal: refusal.source)
def test_the_number_in_the_message_is_used(refusal: Refusal) -> None:
    """And not much less than what the server leaves: an answer needs room."""
    _, quirks = taught(refusal)

    limit = quirks.fit(EVERYTHING, now_ms=NOW_MS).max_tokens

    assert LEAST_ANSWER_TOKENS <= limit <= refusal.limit
    exact = "at least" not in str(refusal.body)
    assert not exact or limit >= 0.7 * refusal.limit


@pytest.mark.parametrize("refusal", CURED, ids=lambda refusal: refusal.source)
def test_the_same_refusal_again_teaches_nothing_new(refusal: Refusal) -> None:
    """What was refused is no longer asked for, so a server that goes on refusing ends the matter."""
    known, repairs = ModelQuirks(), []
    for _ in range(8):
        repair, known = taught(refusal, known)
        repairs.append(repair)

    assert repairs[-1] is Repair.NONE
    # Without a number, or with one that is relative, the answer shrinks until it would be none.
    assert len([repair for repair in repairs if repair]) <= 5


def test_a_prompt_that_is_too_long_is_told_apart_from_an_answer_that_is() -> None:
    """No smaller `max_tokens` helps there: the ladder trims the history."""
    alone = [r for r in OTHER if "the prompt alone" in r.source or "the key's limit" in r.source]

    assert {sort_failure(r.status, r.body)[0] for r in alone} == {CallFault.CONTEXT_TOO_LONG}
    assert len(alone) >= 10


def test_a_window_that_was_learned_is_kept_for_longer_prompts() -> None:
    refusal = next(r for r in CURED if r.source.startswith("vllm, ogx"))
    _, quirks = taught(refusal)

    longer = replace(EVERYTHING, messages=[SYSTEM, HELLO, {"role": "user", "content": HELLO["content"] * 2}])

    assert quirks.fit(longer, now_ms=NOW_MS).max_tokens < quirks.fit(EVERYTHING, now_ms=NOW_MS).max_tokens


def test_a_balance_is_asked_anew_after_ten_minutes() -> None:
    refusal = next(r for r in CURED if "gpt_mobile" in r.source)
    _, quirks = taught(refusal)

    assert quirks.fit(EVERYTHING, now_ms=NOW_MS + 599_000).max_tokens == 1200
    assert quirks.fit(EVERYTHING, now_ms=NOW_MS + 601_000).max_tokens == 8000


@pytest.mark.parametrize(("source", "again"), [("ollama", False), ("openrouter, pydantic", True)])
def test_a_router_without_endpoints_is_asked_anew_and_a_server_without_tools_is_not(source: str, again: bool) -> None:
    refusal = next(r for r in CURED if r.source.startswith(source) and r.cure is Repair.NO_TOOLS)
    _, quirks = taught(refusal)

    assert not quirks.fit(EVERYTHING, now_ms=NOW_MS + 599_000).tools
    assert bool(quirks.fit(EVERYTHING, now_ms=NOW_MS + 601_000).tools) is again


def test_the_system_text_goes_in_front_of_the_first_words_of_the_customer() -> None:
    body = ModelQuirks(takes_system=False).body(EVERYTHING)

    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body["messages"][0]["content"] == f"{SYSTEM['content']}\n\n{HELLO['content']}"


def test_a_talk_that_the_house_began_begins_with_the_user() -> None:
    body = ModelQuirks(alternates=True).body(KINDS["assistant first"])

    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]


def test_thoughts_that_a_server_does_not_take_back_are_left_out_and_the_calls_stay() -> None:
    body = ModelQuirks(takes_thoughts=False).body(KINDS["thoughts"])

    assert body["messages"][2] == {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("quirks", "sent"),
    [
        (ModelQuirks(), {"max_tokens": 8000, "stream": True}),
        (ModelQuirks(limit_name="max_completion_tokens"), {"max_completion_tokens": 8000, "stream": True}),
        (ModelQuirks(limit_name=""), {"stream": True}),
        (ModelQuirks(streams=False), {"max_tokens": 8000, "stream": False}),
    ],
)
def test_the_body_speaks_the_servers_dialect(quirks: ModelQuirks, sent: dict[str, Any]) -> None:
    body = quirks.body(EVERYTHING)

    assert {name: body[name] for name in ("max_tokens", "max_completion_tokens", "stream") if name in body} == sent
    assert ("stream_options" in body) is quirks.streams


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (openai("Unrecognized request argument supplied: parallel_tool_calls. Please contact us."),
         {"parallel_tool_calls"}),
        (openai("Unknown parameter: 'stream_options'.", param="stream_options", code="unknown_parameter"),
         {"stream_options"}),
        (openai("Extra inputs are not permitted, field: 'stream_options', value: {}"), {"stream_options"}),
        (openai("session_id: Extra inputs are not permitted"), {"session_id"}),
        (vllm("[{'type': 'extra_forbidden', 'loc': ('body', 'session_id'), 'msg': 'Extra inputs are not permitted'}]"),
         {"session_id"}),
        ({"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "user"]}]}}, {"user"}),
        (openai("property 'reasoning' is unsupported"), {"reasoning"}),
        (openai("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property "
                "'reasoning' is unsupported)]"), set()),
        ({"object": "error", "message": {"detail": [{"loc": ["body", "messages", 0, "user", "name"]}]}}, set()),
    ],
)  # fmt: skip
def test_optional_fields_are_found_in_every_shape(body: Any, named: set[str]) -> None:
    assert refused_fields(body, OPTIONAL_FIELDS) == named


def test_an_error_nested_without_end_is_read_as_far_as_is_sensible() -> None:
    body: Any = {"message": "tools are not supported"}
    for _ in range(900):
        body = {"message": body, "detail": [body]}

    assert sort_failure(400, {"error": body})[0] is CallFault.BAD_REQUEST
    assert refused_fields({"error": body}, OPTIONAL_FIELDS) == set()
