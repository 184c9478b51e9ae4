"""Tool calls that cannot be run, or that come where none may."""

from starlette.responses import Response

from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.fault import Fault, answer_fault


def _same_call(request: ChatRequest) -> Response:
    call = tool_call("search_knowledge", {"query": "кружка"}, call_id=f"call_{request.number}")
    return Answer(tool_calls=[call], finish_reason="tool_calls").response(request)


def _call_on_last_step(request: ChatRequest) -> Response:
    """Calls tools whatever it was told, with `tool_choice: none` and even without tools."""
    call = tool_call("search_knowledge", {"query": f"кружка {request.number}"}, call_id=f"call_{request.number}")
    return Answer(tool_calls=[call], finish_reason="tool_calls").response(request)


_SEARCH = tool_call("search_knowledge", {"query": "кружка"})
CALLS = [
    Fault("call_on_last_step", "call on the last step", _call_on_last_step),
    Fault("same_call_repeated", "same call repeated", _same_call),
    answer_fault(
        "bad_arguments",
        "bad arguments",
        Answer(tool_calls=[tool_call("search_knowledge", '{"query": "кру')], finish_reason="tool_calls"),
    ),
    answer_fault(
        "missing_arguments",
        "bad arguments",
        Answer(
            tool_calls=[{"id": "call_a1", "type": "function", "function": {"name": "search_knowledge"}}],
            finish_reason="tool_calls",
        ),
    ),
    answer_fault(
        "unknown_tool",
        "unknown tool",
        Answer(tool_calls=[tool_call("book_a_table", {"people": 2})], finish_reason="tool_calls"),
    ),
    answer_fault("calls_with_stop", "shape", Answer(tool_calls=[_SEARCH], finish_reason="stop")),
    answer_fault(
        "call_ids_missing",
        "shape",
        Answer(
            tool_calls=[{**_SEARCH, "id": None}, {**tool_call("search_knowledge", {"query": "курс"}), "id": ""}],
            finish_reason="tool_calls",
        ),
    ),
    answer_fault(
        "call_emitted_again",
        "shape",
        Answer(
            finish_reason="tool_calls",
            tool_calls=[_SEARCH],
            deltas=[
                {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **_SEARCH}]},
                {"tool_calls": [{"index": 0, "id": "call_a1", "function": {"arguments": " "}}]},
                {"tool_calls": [{"index": 1, "function": {"arguments": "\n"}}]},
            ],
        ),
    ),
]
