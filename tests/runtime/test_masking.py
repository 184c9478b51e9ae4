import io
import json
import logging

import pytest

from runtime.logging import configure_logging, get_logger
from runtime.masking import mask
from runtime.settings import Config, Environment, Settings


@pytest.mark.parametrize(
    "secret",
    [
        "https://api.telegram.org/bot1234567890:AAHinvented_token_of_a_bot_0123456789/sendMessage",
        "EAAGm0PX4ZCpsBAinvented",
        "IGQVJinventedtoken",
        "https://graph.example.invalid/me?access_token=invented&x=1",
        "Authorization: Bearer sk-or-v1-invented-key",
        "redis://user:invented@host:6379/0",
        "anna@example.com",
        "+7 (900) 000-00-01",
        "89000000001",
    ],
)
def test_secrets_and_personal_data_are_masked(secret: str) -> None:
    masked = mask(f"failed: {secret}")

    assert secret not in masked
    assert "invented" not in masked


@pytest.mark.parametrize(
    "text", ["4eb1e8a7ea08e4a6", "account instagram 17841400000000042", "HTTP 503, code 10/2534022", "v26.0"]
)
def test_what_people_need_to_read_stays(text: str) -> None:
    assert mask(text) == text


def test_a_log_line_is_json_and_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        configure_logging("test", Settings(env=Environment(app_env="production"), config=Config()))
        get_logger("x").warning(
            "send_failed", reason="Bearer sk-invented-000000000000", conversation="4eb1e8a7ea08e4a6"
        )
        logging.getLogger("somebody.else").error("bot1234567890:AAHinvented_token_of_a_bot_0123456789")
    finally:
        root.handlers[:], root.level = before
        logging.captureWarnings(False)

    ours, theirs = (json.loads(line) for line in stream.getvalue().splitlines())
    assert ours["event"] == "send_failed"
    assert ours["conversation"] == "4eb1e8a7ea08e4a6"
    assert "invented" not in stream.getvalue()
    assert theirs["logger"] == "somebody.else"
