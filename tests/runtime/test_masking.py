import io
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from runtime.logging import configure_logging, get_logger
from runtime.masking import mask
from runtime.settings import Config, Environment, Settings

WORDS = "what a customer wrote"
PHONE = "+7 (900) 000-00-01"


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


@pytest.mark.parametrize(
    "hostile",
    [
        "1" * 400_000,
        "a." * 200_000,
        "a@a." * 100_000,
        "eyJ-" * 100_000,
        "eyJaaaaaaaa." * 30_000,
        "sk-" * 100_000,
        "1 (" * 100_000,
        "1" + " " * 400_000,
        "bot12345:" * 40_000,
        "1234567:" * 40_000,
        "redis://" * 40_000,
        "bearer " * 50_000,
        "access_token=" * 30_000,
    ],
)
def test_a_hostile_text_takes_no_time(hostile: str) -> None:
    started = time.process_time()
    for text in (hostile, hostile[:19_000]):
        mask(text)

    assert time.process_time() - started < 0.5


def test_a_long_text_keeps_its_ends_and_no_half_of_a_secret() -> None:
    secret = "EAAinventedtoken"
    for before in range(9_980, 10_001):
        masked = mask("begin " + "x" * (before - 6) + " " + secret + " y" * 10_000 + " end")

        assert masked.startswith("begin ")
        assert masked.endswith(" end")
        assert "invented" not in masked
        assert len(masked) < 21_000


@contextmanager
def logging_to_a_text(app_env: str) -> Iterator[io.StringIO]:
    """What goes to stderr meanwhile; the root logger is put back afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        with redirect_stderr(stream):
            configure_logging("test", Settings(env=Environment(app_env=app_env), config=Config()))
            yield stream
    finally:
        root.handlers[:], root.level = before
        logging.captureWarnings(False)


def test_a_log_line_is_json_and_masked() -> None:
    with logging_to_a_text("production") as stream:
        get_logger("x").warning(
            "send_failed", reason="Bearer sk-invented-000000000000", conversation="4eb1e8a7ea08e4a6"
        )
        logging.getLogger("somebody.else").error("bot1234567890:AAHinvented_token_of_a_bot_0123456789")

    ours, theirs = (json.loads(line) for line in stream.getvalue().splitlines())
    assert ours["event"] == "send_failed"
    assert ours["conversation"] == "4eb1e8a7ea08e4a6"
    assert "invented" not in stream.getvalue()
    assert theirs["logger"] == "somebody.else"


@pytest.mark.parametrize("app_env", ["production", "development"])
def test_a_traceback_shows_no_values(app_env: str) -> None:
    def fail(words: str, phone: str) -> None:
        raise ValueError(f"cannot call {phone}" if words else "")

    with logging_to_a_text(app_env) as stream:
        try:
            fail(WORDS, PHONE)
        except ValueError:
            get_logger("y").exception("call_failed")
            logging.getLogger("somebody.else").exception("call failed")

    assert stream.getvalue().count("ValueError: cannot call <number>") == 2
    assert WORDS not in stream.getvalue()


def test_no_process_takes_rich_along_for_its_logs() -> None:
    program = "import sys, runtime.logging; import structlog.dev; print('rich' in sys.modules, structlog.dev.rich)"

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)

    assert said.stdout.split() == ["False", "None"]
