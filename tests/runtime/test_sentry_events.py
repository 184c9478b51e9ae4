"""What leaves for Sentry, on the wire of a real SDK: types, places and codes; no ids, no words, no secrets."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.sentry_events import origin_of, safe_breadcrumb, safe_event, said
from sandbox.sentry import SentrySandbox
from sandbox.server import SandboxServer
from tests.rooms import ROOT

CUSTOMER = "17999888777666555"
KEY = "Zq8mT4vX1nB7-the-models-key"
WORDS = "кружка «Туман»"

PROGRAM = f"""
import asyncio, logging, sys
import httpx
from bot.errors import NightshiftError
from clients.graph.errors import SendOutcomeUnknown
from clients.http import make_http_client
from runtime.logging import configure_logging, get_logger
from runtime.sentry import capture, flush, init_sentry
from runtime.settings import Config, Environment, Settings

dsn, other_side = sys.argv[1:]
settings = Settings(env=Environment(sentry_dsn=dsn, llm_api_key={KEY!r}), config=Config())
configure_logging("test", settings)
init_sentry("test", settings)
import sentry_sdk

def set_everything():
    sentry_sdk.set_extra("words", {{"text": {WORDS!r}, "id": {CUSTOMER!r}}})
    sentry_sdk.set_tag("customer", {CUSTOMER!r})
    sentry_sdk.set_context("customer", {{"who": {CUSTOMER!r}}})
    sentry_sdk.set_user({{"id": {CUSTOMER!r}}})
    sentry_sdk.get_current_scope().set_transaction_name("/privacy/{CUSTOMER}", source="url")
    sentry_sdk.add_breadcrumb(category="redis", message="GET ns:c:{CUSTOMER}", data={{"key": {CUSTOMER!r}}})

async def main():
    url = f"{{other_side}}/v26.0/{CUSTOMER}?fields=name&access_token={KEY}"
    async with make_http_client() as http:
        await http.get(url)
    async with httpx.AsyncClient(trust_env=False) as http:
        await http.get(url)
    logging.getLogger("library").info("told %s", {CUSTOMER!r})
    logging.getLogger("library").info(f"told {CUSTOMER}")
    get_logger("ours").warning("turn_ended", conversation="4eb1e8a7ea08e4a6", reason={WORDS!r}, customer={CUSTOMER!r})
    set_everything()
    local = {CUSTOMER!r}
    try:
        try:
            raise SendOutcomeUnknown("accepted without a message id", 200)
        except NightshiftError as exc:
            raise ValueError(f"no {{local}} in {WORDS}, {KEY}") from exc
    except ValueError as exc:
        capture(exc)
        try:
            raise ExceptionGroup("two of {CUSTOMER}", [KeyError(local), OSError(5, local)])
        except ExceptionGroup as group:
            capture(group)
    capture(NightshiftError("foreseen"))
    get_logger("ours").error("part_failed", error="GraphAPIUnavailable", code=10, reason={WORDS!r})
    logging.getLogger("library").error("refused %r", ValueError(local))
    logging.getLogger("asyncio").error(f"never retrieved: {{ValueError(local)!r}}")

asyncio.run(main())
flush(10)
"""


@pytest.fixture(scope="module")
def sentry() -> Iterator[SentrySandbox]:
    sandbox = SentrySandbox()
    with SandboxServer(sandbox.app) as server:
        command = [sys.executable, "-c", PROGRAM, sandbox.dsn(server), server.url]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=100)
        yield sandbox


def everything_in(event: dict[str, Any]) -> str:
    """But the lines of the program, which stand in this file."""
    for exception in event.get("exception", {}).get("values", []):
        for frame in exception["stacktrace"]["frames"]:
            for name in ("pre_context", "context_line", "post_context"):
                frame.pop(name, None)
    return json.dumps(event, ensure_ascii=False)


def test_nothing_of_a_customer_and_no_secret_leaves(sentry: SentrySandbox) -> None:
    events = sentry.items("event")

    assert len(events) == 5
    told = "\n".join(map(everything_in, events))
    assert [secret for secret in (CUSTOMER, KEY, "Туман", "кружка", "v26.0") if secret in told] == []


def test_where_and_of_what_type_is_told(sentry: SentrySandbox) -> None:
    first, group, *_ = sentry.items("event")
    cause, bug = first["exception"]["values"]

    assert (bug["type"], bug.get("value")) == ("ValueError", None)
    assert bug["stacktrace"]["frames"][-1]["function"] == "main"
    assert (cause["type"], cause["module"]) == ("SendOutcomeUnknown", "clients.graph.errors")
    assert "accepted without a message id" in cause["value"]
    assert {"ExceptionGroup", "KeyError", "OSError"} <= {value["type"] for value in group["exception"]["values"]}
    assert first["tags"] == {"process": "test"}
    assert first["transaction"] == "unnamed"
    assert len(first["event_id"]) == len(first["contexts"]["trace"]["trace_id"]) == 32


def test_what_led_to_it_is_told_without_its_values(sentry: SentrySandbox) -> None:
    crumbs = sentry.items("event")[0]["breadcrumbs"]["values"]

    calls = [crumb["data"] for crumb in crumbs if crumb["type"] == "http"]
    assert len(calls) == 2
    for call in calls:
        assert call["url"].startswith("http://127.0.0.1:")
        assert (call["http.method"], call["http.response.status_code"]) == ("GET", 404)
        assert call["url"].count("/") == 2
    assert [crumb["message"] for crumb in crumbs if crumb["type"] == "log"] == [
        "told %s",
        "a line of library",
        "turn_ended conversation=4eb1e8a7ea08e4a6 process=test",
    ]


def test_an_error_line_of_the_log_is_an_event_without_its_values(sentry: SentrySandbox) -> None:
    said = [event["logentry"]["message"] for event in sentry.items("event") if "logentry" in event]

    assert said == ["part_failed error=GraphAPIUnavailable code=10 process=test", "refused %r", "a line of asyncio"]


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        (f"https://graph.facebook.com/v26.0/{CUSTOMER}?x=1", "https://graph.facebook.com"),
        ("https://api.telegram.org/bot123:AA/sendMessage", "https://api.telegram.org"),
        ("http://user:word@host:8080/a", "http://host:8080"),
        ("http://[::1", ""),
        ("http://host:port/", ""),
        ("", "://"),
    ],
)
def test_of_an_address_the_host_alone_is_told(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("odd", [{}, {"exception": None}, {"breadcrumbs": None, "tags": None, "contexts": None}])
def test_an_odd_event_breaks_nothing(odd: dict[str, Any]) -> None:
    assert safe_event(odd, {})["contexts"] == {"trace": {}, "runtime": {}}
    assert safe_breadcrumb({"type": "http", "data": None, **odd}, {})["data"]["url"] in ("", "://")
    assert said(None) == ""


def test_a_long_number_is_no_code() -> None:
    record = logging.makeLogRecord({"msg": {"event": "x", "code": CUSTOMER, "status": 503, "error": "two words"}})

    assert said(record) == "x status=503"
