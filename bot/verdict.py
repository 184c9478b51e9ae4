"""Is an answer of the model usable, and if not, may the same model be asked again? Light: every process reads it."""

from enum import StrEnum


class Verdict(StrEnum):
    SUCCESS = "success"
    RETRY_REQUIRED = "retry_required"  # the same model may do better, asked otherwise
    FAILED_FALLBACK = "failed_fallback"  # no retry on this model can help
    EMPTY_NO_TOKENS = "empty_no_tokens"  # nothing was generated at all
