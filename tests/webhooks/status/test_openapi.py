"""docs/openapi.json says what the receiver serves: all of it, and nothing else."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from store.connection import StoreUnavailable
from tests.payloads import documented, raw
from tests.rooms import ROOT
from tests.webhooks.guards.raw import request, sends_until_cut_off, serve, until_closed
from tests.webhooks.support import LOOK_AGAIN, RECEIVED_MS, VERIFY_TOKEN, RememberingStore, make_settings, sign
from webhooks.app import create_app
from webhooks.endpoints import Limits
from webhooks.guards.heads import HEAD_BYTES, MOST_HEADERS, MOST_PIPELINED
from webhooks.payloads import parse_body
from webhooks.status.health import Freshness

pytestmark = pytest.mark.anyio

DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
PATHS: dict[str, dict[str, Any]] = DOCUMENT["paths"]
WEBHOOK = "/webhooks/meta"
# All addresses of the contract, those of features that are not there among them.
CONTRACT = (
    WEBHOOK,
    "/webhooks/telegram",
    "/privacy/deletion",
    "/privacy/deauthorize",
    "/privacy/deletion/abc",
    "/health/live",
    "/health/ready",
    "/health/system",
    "/metrics",
)
OPERATORS = ("/health/system", "/metrics")
BEFORE_ANY_ADDRESS = ("400", "405", "431")  # of every operation alike: for what is no request for it
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
TYPES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": int | float,
    "array": list,
    "object": dict,
    "null": None.__class__,
}


@pytest.fixture
async def small(store: RememberingStore) -> AsyncIterator[httpx.AsyncClient]:
    """A receiver with bounds that a test can reach."""
    async with client_of(store) as client:
        yield client


def client_of(store: RememberingStore, *, ops_token: str = "") -> httpx.AsyncClient:
    limits = Limits(body_bytes=1000, body_seconds=0.05)
    app = create_app(
        make_settings(ops_token=ops_token), store, limits=limits, freshness=LOOK_AGAIN, clock_ms=lambda: RECEIVED_MS
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found: Any = DOCUMENT
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def described(path: str, method: str, status: str) -> dict[str, Any]:
    return resolve(PATHS[path][method]["responses"][status])


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """As far as this document goes in what it asks for."""
    schema = resolve(schema)
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(isinstance(value, TYPES[k]) and (k == "boolean") == isinstance(value, bool) for k in kinds):
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return (
            set(schema.get("required", ())) <= value.keys()
            and (schema.get("additionalProperties", True) or value.keys() <= properties.keys())
            and all(fits(inner, properties[key]) for key, inner in value.items() if key in properties)
        )
    if isinstance(value, list):
        return all(fits(inner, schema.get("items", {})) for inner in value)
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        return False
    return value in schema.get("enum", [value])


def check(answer: httpx.Response, path: str) -> str:
    """That an answer is as described; its place in the document."""
    method, status = answer.request.method.lower(), str(answer.status_code)
    response = described(path, method, status)
    [(content_type, content)] = response["content"].items()
    assert answer.headers["content-type"].partition(";")[0] == content_type
    assert fits(answer.json() if content_type == "application/json" else answer.text, content["schema"])
    for name, header in response.get("headers", {}).items():
        if header.get("required") or name.lower() in answer.headers:
            assert fits(answer.headers[name], header["schema"]), name
    return f"{method} {path} {status}"


async def stuck() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


async def test_every_answer_described_is_given_and_as_described(
    small: httpx.AsyncClient, store: RememberingStore
) -> None:
    query = {"hub.mode": "subscribe", "hub.verify_token": VERIFY_TOKEN, "hub.challenge": "1158201444"}
    body = raw("instagram/messages/text")

    given = [
        check(await small.get(WEBHOOK, params=query), WEBHOOK),
        check(await small.get(WEBHOOK), WEBHOOK),
        check(await small.post(WEBHOOK, content=body, headers=sign(body)), WEBHOOK),
        check(await small.post(WEBHOOK, content=body), WEBHOOK),
        check(await small.post(WEBHOOK, content=body, headers=sign(b"")), WEBHOOK),
        check(await small.post(WEBHOOK, content=stuck(), headers=sign(b"")), WEBHOOK),
        check(await small.post(WEBHOOK, content=b"x" * 1001, headers=sign(b"")), WEBHOOK),
        *[check(await small.get(path), path) for path in PATHS if path != WEBHOOK],
    ]
    store.failure = StoreUnavailable("away")
    given += [
        check(await small.post(WEBHOOK, content=body, headers=sign(body)), WEBHOOK),
        *[check(await small.get(path), path) for path in PATHS if path != WEBHOOK],
    ]

    async with client_of(store, ops_token="invented") as stranger:
        given += [check(await stranger.get(path), path) for path in OPERATORS]
    stranger = client_of(store)
    stranger.headers["Via"] = "a proxy"
    async with stranger:
        given += [check(await stranger.get(path), path) for path in OPERATORS]

    assert set(given) == {
        f"{method} {path} {status}"
        for path, operations in PATHS.items()
        for method, operation in operations.items()
        for status in operation["responses"]
        if status not in BEFORE_ANY_ADDRESS
    }


@pytest.mark.parametrize("path", PATHS)
def test_what_is_answered_before_any_address_is_as_described(path: str) -> None:
    target = path.encode()
    asked = {
        "400": request(*[b"a:b"] * 300, method=b"GET", target=target),
        "405": request(b"Content-Length: 0", method=b"DELETE", target=target),
        "431": request(method=b"GET", target=target)[:-2],
    }
    heard: dict[str, bytes] = {}
    for receiver in serve(keep_alive_seconds=0):
        for status, said in asked.items():
            with receiver.connect() as connection:
                connection.sendall(said)
                if status == "431":
                    sends_until_cut_off(connection, b"X-Long: %s\r\n" % (b"a" * 8000), times=3)
                heard[status] = until_closed(connection)

    assert heard.keys() == set(BEFORE_ANY_ADDRESS)
    for status, answer in heard.items():
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        for method in PATHS[path]:
            response = described(path, method, status)
            assert first.split()[1] == status
            for name, header in response["headers"].items():
                assert fits(headers[name.lower()], header["schema"])
            schemas = [content["schema"] for content in response.get("content", {}).values()]
            assert all(fits(body.decode(), schema) for schema in schemas) if schemas else body == b""


@pytest.mark.parametrize("path", CONTRACT)
@pytest.mark.parametrize("method", METHODS)
async def test_what_is_described_is_served_and_nothing_else(client: httpx.AsyncClient, path: str, method: str) -> None:
    methods = {each.upper() for each in PATHS.get(path, {})}
    if "GET" in methods:
        methods.add("HEAD")

    answer = await client.request(method, path)

    if not methods:
        assert answer.status_code == 404
    elif method not in methods:
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == methods
    else:
        assert answer.status_code not in (404, 405)


def test_every_path_described_is_of_the_contract() -> None:
    assert PATHS.keys() <= set(CONTRACT)


def test_the_limits_named_are_the_limits() -> None:
    post = PATHS[WEBHOOK]["post"]

    assert Limits().body_bytes == 8 * 1024 * 1024
    assert "8 MiB" in post["description"]
    assert Limits().body_seconds == 10
    assert "ten seconds" in post["responses"]["408"]["description"]
    assert HEAD_BYTES == 16 * 1024
    assert "16 KiB" in described(WEBHOOK, "post", "431")["description"]
    assert "256 headers or 16 KiB" in described(WEBHOOK, "post", "400")["description"]
    assert (MOST_HEADERS, MOST_PIPELINED) == (256, 8)
    seconds = Freshness()
    assert (seconds.ready_seconds, seconds.system_seconds, seconds.unwell_seconds) == (1, 5, 0.5)


@pytest.mark.parametrize("name", documented())
def test_a_known_payload_fits_the_description_of_a_body(name: str) -> None:
    schema = PATHS[WEBHOOK]["post"]["requestBody"]["content"]["application/json"]["schema"]

    assert fits(parse_body(raw(name)), schema)


def test_the_document_is_whole() -> None:
    references = list(strings(DOCUMENT, "$ref"))
    operations = [operation["operationId"] for each in PATHS.values() for operation in each.values()]

    assert DOCUMENT["openapi"].startswith("3.1.")
    assert references
    assert all(resolve({"$ref": reference}) for reference in references)
    known = {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in DOCUMENT["components"][kind]
    }
    assert set(references) == known
    assert len(operations) == len(set(operations))


def strings(value: Any, wanted: str) -> Iterator[str]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if key == wanted:
            yield each
        yield from strings(each, wanted)
