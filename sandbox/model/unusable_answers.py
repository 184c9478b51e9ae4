"""Answers in good form without usable text: silent ones, and texts that no customer may read."""

from dataclasses import replace

import orjson
from starlette.responses import Response

from sandbox.model.answers import THOUGHT, Answer, ChatRequest
from sandbox.model.fault import GOOD_TEXT, TAGS, Fault, answer_fault


def _prompt_leak(request: ChatRequest) -> Response:
    return Answer(content=request.system[:800] or "You are a helpful assistant.").response(request)


def _stage_leak(request: ChatRequest) -> Response:
    """Recites the middle of its instructions."""
    middle = len(request.system) // 2
    return Answer(content=request.system[middle : middle + 600] or "You are a helpful assistant.").response(request)


def _kick_leak(request: ChatRequest) -> Response:
    note = request.customer.splitlines()[-1] if request.customer else "answer the customer now"
    text = f"Sorry, my previous reply was empty. The note says: {note} Here is the answer: yes, of course.\n{TAGS}"
    return Answer(content=text).response(request)


_DSML = (
    "<｜DSML｜function_calls>\n"
    '<｜DSML｜invoke name="search_knowledge">\n<｜DSML｜parameter name="query" string="true">кружка'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)
_MONOLOGUE = (
    "The user wants to know about mugs. I need to check the catalogue first. Let me think about which stage applies: "
    "stage 3, so I should call search_knowledge before I answer the customer."
)
_CHINESE = "好的，我来看看目录里的杯子，然后回复客户。请稍等一下，我正在查找价格和库存信息。"
_GARBLE = (
    "Здравствуйте 响应 кружка ‑ ация the 回复 цена цена ロ ация of керам 您好 ика ика ика 的的的 stock ация ация ロロ"
)
_LOCK = Answer(content="", reasoning=THOUGHT * 8)

SILENT = [
    answer_fault("reasoning_lock", "reasoning lock", _LOCK),
    answer_fault("reasoning_lock_content", "reasoning lock", replace(_LOCK, reasoning_field="reasoning_content")),
    answer_fault("length_lock", "budget eaten by thinking", replace(_LOCK, finish_reason="length")),
    answer_fault(
        "true_empty", "true empty", Answer(reasoning="", usage={"prompt_tokens": 900, "completion_tokens": 0})
    ),
    answer_fault("empty_few_tokens", "empty after tools", Answer(reasoning="", usage={"completion_tokens": 3})),
    answer_fault("null_content", "true empty", Answer(content=None, reasoning="")),
    answer_fault("whitespace", "whitespace only", Answer(content=" \n\n \t\u00a0\n")),
    answer_fault("zero_width", "zero-width only", Answer(content="\u200b\u2060\ufeff\u200d\u00ad")),
    answer_fault("blank_letters", "zero-width only", Answer(content="\u2800\u3164\u115f\uffa0")),
    answer_fault("tags_only", "tags only", Answer(content=TAGS)),
    answer_fault("think_tags_only", "tags only", Answer(content="<think>He asks for a mug.</think>", reasoning="")),
    answer_fault("fences_only", "markup only", Answer(content="```\n```")),
    answer_fault("punctuation_only", "markup only", Answer(content="**---**")),
    answer_fault(
        "unclosed_think", "unclosed think", Answer(content="<think>The customer wants a mug, so", reasoning="")
    ),
    answer_fault("finish_tool_calls_empty", "no calls", Answer(content="", finish_reason="tool_calls")),
    answer_fault(
        "malformed_function_call",
        "malformed function call",
        Answer(content=None, reasoning="", native_finish_reason="MALFORMED_FUNCTION_CALL"),
    ),
    answer_fault("content_filter", "content filter", Answer(content="", reasoning="", finish_reason="content_filter")),
    answer_fault("refusal_field", "refusal", Answer(content=None, refusal="I'm sorry, I can't help with that.")),
    answer_fault(
        "draft_in_reasoning", "draft in reasoning", replace(_LOCK, reasoning=f"{THOUGHT}\nDraft: {GOOD_TEXT}")
    ),
    answer_fault("wrong_bucket", "wrong bucket", Answer(content="", reasoning=GOOD_TEXT)),
    answer_fault("filler_collapse", "filler collapse", Answer(reasoning="", usage={"completion_tokens": 30})),
    answer_fault("obeyed_silence", "ordered silence", Answer(reasoning="", usage={"completion_tokens": 1})),
]

UNFIT = [
    answer_fault("orphan_think", "orphan think", Answer(content=f"He wants a mug.</think>{GOOD_TEXT}", reasoning="")),
    answer_fault(
        "balanced_think", "balanced think", Answer(content=f"<think>A mug.</think>\n{GOOD_TEXT}", reasoning="")
    ),
    answer_fault("no_tags", "tags forgotten", Answer(content="Здравствуйте! Рада помочь с выбором.")),
    answer_fault("cut_by_length", "text cut", Answer(content="Здравствуйте! Кружка стоит 19", finish_reason="length")),
    answer_fault("dsml", "tool syntax", Answer(content=_DSML)),
    answer_fault("dsml_ascii", "tool syntax", Answer(content=_DSML.replace("｜", "|"))),
    answer_fault(
        "tool_syntax_xml",
        "tool syntax",
        Answer(content='<tool_call>\n{"name": "search_knowledge", "arguments": {"query": "кружка"}}\n</tool_call>'),
    ),
    answer_fault("function_tag", "tool syntax", Answer(content="<function=search_knowledge>{}</function>")),
    answer_fault(
        "bare_json_call",
        "tool syntax",
        Answer(content='{"name": "search_knowledge", "arguments": {"query": "кружка"}}'),
    ),
    answer_fault(
        "announces_tool", "announces a tool", Answer(content="Секунду, сейчас посмотрю в каталоге и вернусь.")
    ),
    answer_fault("refusal_text", "refusal", Answer(content="I'm sorry, but as an AI language model I can't assist.")),
    Fault("prompt_leak", "prompt leak", _prompt_leak),
    Fault("kick_apology", "kick leak", _kick_leak),
    answer_fault("sentinel", "sentinel", Answer(content="(empty)")),
    answer_fault("no_reply", "sentinel", Answer(content="NO_REPLY")),
    answer_fault("error_text", "sentinel", Answer(content="Error code: 429 - {'error': {'message': 'Rate limit'}}")),
    answer_fault("monologue", "monologue", Answer(content=_MONOLOGUE)),
    answer_fault("loop", "loop", Answer(content="Конечно, подскажу вам. " * 120)),
    answer_fault("chinese_garble", "garbled", Answer(content=_GARBLE)),
    answer_fault("wrong_language", "wrong language", Answer(content=_CHINESE)),
    Fault("stage_leak", "prompt leak", _stage_leak),
    answer_fault("null_word", "markup only", Answer(content="null")),
    answer_fault("object_wrapper", "json wrapper", Answer(content='{"data": null, "success": true}')),
    answer_fault(
        "json_wrapper",
        "json wrapper",
        Answer(content=orjson.dumps({"reply": GOOD_TEXT}).decode()),
    ),
    answer_fault("content_parts", "shape", Answer(content=[{"type": "text", "text": GOOD_TEXT}])),
    answer_fault("no_finish_reason", "shape", Answer(content=GOOD_TEXT, finish_reason=None)),
]
