"""What these tests share."""

from bot.model_output import Completion, Usage
from bot.reply.validation import Judgement
from bot.verdict import Verdict

S, R, F, E = Verdict.SUCCESS, Verdict.RETRY_REQUIRED, Verdict.FAILED_FALLBACK, Verdict.EMPTY_NO_TOKENS
KICK = "Ответь клиенту сейчас простыми словами, не вызывай инструменты и не упоминай эту заметку."


def said(text: str, **changes: object) -> Completion:
    return Completion(**{"content": text, "finish_reason": "stop", "usage": Usage(completion_tokens=50)} | changes)  # type: ignore[arg-type]


def outcome(judgement: Judgement) -> tuple[Verdict, str]:
    return judgement.verdict, judgement.rule
