"""A line of the log: JSON, masked, and the same for what a process says last."""

import io
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from runtime.logging import configure_logging, get_logger
from runtime.settings import Config, Environment, Settings

WORDS = "what a customer wrote"
PHONE = "+7 (900) 000-00-01"


@contextmanager
def logging_to_a_text(app_env: str) -> Iterator[io.StringIO]:
    """What goes to stderr meanwhile; the root logger is put back afterwards."""
    root = logging.getLogger()
    before, hooks = (root.handlers[:], root.level), (sys.excepthook, threading.excepthook)
    stream = io.StringIO()
    try:
        with redirect_stderr(stream):
            configure_logging("test", Settings(env=Environment(app_env=app_env), config=Config()))
            yield stream
    finally:
        root.handlers[:], root.level = before
        sys.excepthook, threading.excepthook = hooks
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


class Odd:
    def __repr__(self) -> str:
        return "Odd(password='invented')"


def test_what_is_inside_a_field_is_masked_as_well() -> None:
    with logging_to_a_text("production") as stream:
        get_logger("x").error("y", faults=["token EAAinvented000"], deep={"a": [{"b": ("Bearer invented-0123",)}]})
        get_logger("x").error("y", odd=Odd(), error=ValueError("redis://:invented@h"), fine=[1, None, True, 0.5])
        logging.getLogger("other").error("%s", {"access_token": "invented"}, extra={"more": [{"password": "invented"}]})

    assert "invented" not in stream.getvalue()
    assert json.loads(stream.getvalue().splitlines()[1])["fine"] == [1, None, True, 0.5]


def test_last_words_are_masked_too() -> None:
    program = (
        "import sys, threading\n"
        "from runtime.logging import configure_logging\n"
        "from runtime.settings import Config, Environment, Settings\n"
        "configure_logging('test', Settings(env=Environment(llm_api_key='invented-key'), config=Config()))\n"
        "def fail(): raise ValueError('refused: invented-key')\n"
        "thread = threading.Thread(target=fail); thread.start(); thread.join()\n"
        "fail()\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)

    assert ended.returncode == 1
    assert [json.loads(line)["event"] for line in ended.stderr.splitlines()] == ["thread_failed", "process_failed"]
    assert ended.stderr.count("ValueError: refused: <secret>") == 2
    assert "invented-key" not in ended.stderr


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
