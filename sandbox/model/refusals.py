"""Refusals by status, in the words of model servers."""

from starlette.responses import Response

from sandbox.model.fault import Fault, refusal_fault
from sandbox.model.rules import Refused

REFUSALS = [
    refusal_fault("400", "bad request", Refused(400, "Provider returned error")),
    refusal_fault(
        "400_reasoning_mandatory",
        "mandatory thinking",
        Refused(400, "Reasoning is mandatory for this endpoint and cannot be disabled."),
    ),
    refusal_fault("400_system_not_first", "history fault", Refused(400, "System message must be at the beginning.")),
    refusal_fault(
        "400_empty_content", "history fault", Refused(400, "messages: text content blocks must be non-empty")
    ),
    refusal_fault(
        "400_prefill", "history fault", Refused(400, "Assistant response prefill is incompatible with thinking")
    ),
    refusal_fault(
        "400_tools_missing", "history fault", Refused(400, "`tools` must be set when messages hold tool calls")
    ),
    refusal_fault("422", "bad request", Refused(422, "Unprocessable Entity", "")),
    refusal_fault(
        "400_reasoning_lost",
        "history fault",
        Refused(400, "The `reasoning_content` in the thinking mode must be passed back to the API."),
    ),
    refusal_fault("401", "account", Refused(401, "User not found.", "")),
    refusal_fault("402", "account", Refused(402, "This request requires more credits, or fewer max_tokens.", "")),
    refusal_fault(
        "403_moderation", "moderation", Refused(403, "flagged", "", {"reasons": ["x"], "flagged_input": "y"})
    ),
    refusal_fault("403_key", "account", Refused(403, "Key limit exceeded", "")),
    refusal_fault("404_model", "not found", Refused(404, "No endpoints found for sandbox/unknown.", "")),
    refusal_fault(
        "404_tool_choice",
        "parameter not supported",
        Refused(404, "No endpoints found that support the provided 'tool_choice' value.", ""),
    ),
    refusal_fault(
        "429",
        "capacity",
        Refused(429, "Rate limit exceeded", "rate_limit_exceeded", headers={"retry-after": "2"}),
    ),
    refusal_fault("500", "capacity", Refused(500, "Internal Server Error", "server")),
    Fault(
        "502_html",
        "capacity",
        lambda _: Response("<html><h1>502 Bad Gateway</h1></html>", status_code=502, media_type="text/html"),
    ),
    refusal_fault("503", "capacity", Refused(503, "overloaded", "provider_overloaded", headers={"retry-after": "1"})),
    refusal_fault("408", "capacity", Refused(408, "Request timed out", "timeout")),
    refusal_fault("524", "capacity", Refused(524, "A timeout occurred", "")),
    refusal_fault("529", "capacity", Refused(529, "Overloaded", "")),
    refusal_fault("413", "context overflow", Refused(413, "Payload Too Large", "")),
    refusal_fault(
        "context_overflow",
        "context overflow",
        Refused(400, "This endpoint's maximum context length is 8192 tokens.", "context_length_exceeded"),
    ),
]
