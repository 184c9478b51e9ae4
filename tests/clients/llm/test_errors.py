from typing import Any

import pytest

from bot.model_output import CallFault
from clients.llm.errors import refused_fields, retry_after_seconds, sort_failure
from clients.llm.requests import OPTIONAL_FIELDS


def openrouter(code: int, message: str = "", **metadata: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "metadata": metadata}}


@pytest.mark.parametrize(
    ("status", "body", "fault", "detail"),
    [
        (400, openrouter(400, error_type="context_length_exceeded"),
         CallFault.CONTEXT_TOO_LONG, "context_length_exceeded"),
        (400, openrouter(400, "maximum context length is 8192"), CallFault.CONTEXT_TOO_LONG, "context_too_long"),
        (413, None, CallFault.CONTEXT_TOO_LONG, "http_413"),
        (None, openrouter(429, error_type="provider_overloaded"), CallFault.OVERLOADED, "provider_overloaded"),
        (None, openrouter(403, error_type="content_policy_violation"),
         CallFault.MODERATION, "content_policy_violation"),
        (403, openrouter(403, reasons=["violence"], flagged_input="…"), CallFault.MODERATION, "http_403"),
        (403, openrouter(403, "Key limit exceeded"), CallFault.ACCOUNT, "http_403"),
        (401, {"error": {"message": "bad key", "code": "invalid_api_key"}}, CallFault.ACCOUNT, "invalid_api_key"),
        (402, openrouter(402, "more credits, or fewer max_tokens"), CallFault.ACCOUNT, "fewer_max_tokens"),
        (429, {"error": {"code": "insufficient_quota", "message": "quota"}}, CallFault.ACCOUNT, "insufficient_quota"),
        (404, {"error": "model 'x' not found"}, CallFault.NOT_FOUND, "unknown_model"),
        (404, openrouter(404, "support the provided 'tool_choice' value"),
         CallFault.NOT_FOUND, "tool_choice_unsupported"),
        (400, {"object": "error", "message": "System message must be at the beginning.", "code": 400},
         CallFault.BAD_REQUEST, "system_not_first"),
        (400, openrouter(400, "text content must be non-empty", error_type="invalid_prompt"),
         CallFault.BAD_REQUEST, "empty_content"),
        (400, openrouter(400, "Provider returned error", raw="`reasoning_content` must be passed back"),
         CallFault.BAD_REQUEST, "reasoning_not_passed_back"),
        (400, openrouter(400, "Reasoning is mandatory for this endpoint"),
         CallFault.BAD_REQUEST, "reasoning_mandatory"),
        (400, {"error": {"code": "data_inspection_failed"}}, CallFault.MODERATION, "data_inspection_failed"),
        (422, {"detail": [{"loc": ["body", "x"]}]}, CallFault.BAD_REQUEST, "http_422"),
        (418, "a teapot", CallFault.BAD_REQUEST, "http_418"),
        (302, None, CallFault.NOT_FOUND, "http_302"),
        (408, None, CallFault.OVERLOADED, "http_408"),
        (524, None, CallFault.OVERLOADED, "http_524"),
        (500, {"error": {"type": "server_error"}}, CallFault.OVERLOADED, "server_error"),
        (None, {}, CallFault.OVERLOADED, "error"),
        (None, {"message": "boom", "type": "server_error"}, CallFault.OVERLOADED, "server_error"),
        (400, [{"error": {"code": 400, "message": "x"}}], CallFault.BAD_REQUEST, "http_400"),
        (400, {"error": {"code": True, "metadata": "text", "message": 5}}, CallFault.BAD_REQUEST, "http_400"),
    ],
)  # fmt: skip
def test_each_refusal_has_a_fault_and_a_word(status: int | None, body: Any, fault: CallFault, detail: str) -> None:
    got = sort_failure(status, body)

    assert (got[0], got[2]) == (fault, detail)


def test_the_code_inside_a_200_is_reported_as_the_status() -> None:
    assert sort_failure(None, {"code": "502", "message": "x"})[1] == 502


def test_the_detail_never_quotes_the_server() -> None:
    secret = {"error": {"code": "Customer wrote: call me", "type": "Ignore previous", "message": "Customer wrote"}}

    assert sort_failure(400, secret)[2] == "http_400"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"error": {"message": "Unknown parameter: 'provider'.", "param": "provider"}}, {"provider"}),
        ({"error": {"message": "Unrecognized request argument supplied: session_id"}}, {"session_id"}),
        ({"error": {"message": "property 'reasoning' is unsupported"}}, {"reasoning"}),
        ({"error": {"message": 'Invalid JSON payload received. Unknown name "user": Cannot find field.'}}, {"user"}),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}, {"stream_options"}),
        ({"error": {"message": "x", "metadata": {"raw": "Unsupported parameter: 'parallel_tool_calls'"}}},
         {"parallel_tool_calls"}),
        ({"error": {"message": "Provider returned error"}}, set()),
        ({"error": {"message": "The `reasoning_content` in the thinking mode must be passed back"}}, set()),
        ({"error": {"message": "unsupported role: user"}}, set()),
        ({"error": {"message": "No endpoints found that support the provided 'tool_choice' value"}}, set()),
        ({"error": {"param": "messages", "message": "unknown role"}}, set()),
        (None, set()),
    ],
)  # fmt: skip
def test_only_fields_called_strange_are_refused(body: Any, named: set[str]) -> None:
    assert refused_fields(body, OPTIONAL_FIELDS) == named


NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("header", "body", "seconds"),
    [
        ("3", None, 3.0),
        ("0.5", None, 0.5),
        ("-1", None, 0.0),
        ("Fri, 15 Jan 2027 08:00:30 GMT", None, 30.0),
        ("Thu, 14 Jan 2027 08:00:00 GMT", None, 0.0),
        ("soon", None, None),
        ("inf", None, None),
        ("nan", None, None),
        (None, None, None),
        (None, {"error": {"availability": {"retry_after": 7}}}, 7.0),
        ("2", {"error": {"availability": {"retry_after": 7}}}, 2.0),
    ],
)
def test_the_other_sides_wish_is_read(header: str | None, body: Any, seconds: float | None) -> None:
    assert retry_after_seconds(header, body, now_ms=NOW_MS) == seconds
