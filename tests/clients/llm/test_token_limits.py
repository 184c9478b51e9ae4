"""What a server's words tell about how long an answer may be."""

import pytest

from clients.llm.token_limits import TokenLimits, token_limits_in


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("can only afford 1,200.", TokenLimits(affordable=1200)),
        ("maximum context length is 12288 tokens", None),
        ("maximum context length is 12288 tokens, you requested 9000 output tokens", TokenLimits(window=12288)),
        ("maximum context length is 100 tokens (at least 7 in the messages, 5 in the completion)", TokenLimits(100, 7)),
        ("a limit of 5 requests", None),
        ("", None),
        ("can only afford " + "9" * 400, TokenLimits(affordable=999_999_999_999)),
    ],
)
def test_token_limits_are_read_from_words(text: str, limits: TokenLimits | None) -> None:
    assert token_limits_in(text) == limits
