"""A refusal of a server, and the forms and words that many servers share."""

from dataclasses import dataclass
from typing import Any

from bot.agent.repairs import Repair


@dataclass(frozen=True)
class Refusal:
    source: str
    status: int | None
    body: Any
    cure: Repair
    asks: str = "everything"
    limit: int = 0


def openai(message: str, *, param: str | None = None, code: Any = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def vllm(message: str, code: int = 400) -> Any:
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": code}


def router(message: str, code: int, **metadata: Any) -> Any:
    return {"error": {"message": message, "code": code, "metadata": metadata or {"provider_name": None}}}


def raw(message: str) -> Any:
    """An upstream's own body within OpenRouter's."""
    return router("Provider returned error", 400, raw='{\n  "error": {\n    "message": "' + message + '" }}')


LIMIT_NAME = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
VERIFIED = (
    "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/"
    "organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes."
)
ROLES = "Conversation roles must alternate user/assistant/user/assistant/..."
MIDDLE_OUT = 'Please reduce the length of either one, or use the "middle-out" transform to compress your prompt.'
CREDITS = "To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"
