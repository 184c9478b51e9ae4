"""/metrics and /health/system are for operators: by token, or without one on this machine alone."""

import httpx
import pytest

from tests.webhooks.support import RememberingStore, make_settings
from webhooks.app import create_app

pytestmark = pytest.mark.anyio

TOKEN = "invented-ops-token"
OPERATORS = ("/metrics", "/health/system")
EVERYBODY = ("/health/live", "/health/ready")


async def status(
    path: str, *, token: str = "", peer: str = "127.0.0.1", host: str = "localhost:8000", **headers: str
) -> int:
    app = create_app(make_settings(ops_token=token), RememberingStore())
    transport = httpx.ASGITransport(app, client=(peer, 40_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await client.get(path, headers={"Host": host, **named})).status_code


@pytest.mark.parametrize("path", OPERATORS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
async def test_the_token_is_enough_from_anywhere(path: str, scheme: str) -> None:
    far = {"peer": "203.0.113.9", "host": "bot.example.com", "X_Forwarded_For": "198.51.100.7"}

    assert await status(path, token=TOKEN, **far, Authorization=f"{scheme} {TOKEN}") == 200


@pytest.mark.parametrize("path", OPERATORS)
@pytest.mark.parametrize(
    "authorization",
    [None, "", TOKEN, "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xfc"],
)
async def test_without_the_token_not_even_this_machine_is_told(path: str, authorization: str | None) -> None:
    app = create_app(make_settings(ops_token=TOKEN), RememberingStore())
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get(path, headers=headers)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.text == "Unauthorized"


async def test_two_answers_to_one_question_are_none() -> None:
    app = create_app(make_settings(ops_token=TOKEN), RememberingStore())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/metrics", headers=[("Authorization", f"Bearer {TOKEN}")] * 2)

    assert answer.status_code == 401


async def test_a_token_may_be_of_any_letters() -> None:
    app = create_app(make_settings(ops_token="ночь"), RememberingStore())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/metrics", headers={b"Authorization": "Bearer ночь".encode()})

    assert answer.status_code == 200


@pytest.mark.parametrize("path", OPERATORS)
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
async def test_without_a_token_this_machine_is_told(path: str, peer: str, host: str) -> None:
    assert await status(path, peer=peer, host=host, token="  ") == 200


@pytest.mark.parametrize("path", OPERATORS)
@pytest.mark.parametrize("peer", ["203.0.113.9", "10.0.0.1", "172.17.0.1", "::2", "::ffff:10.0.0.1", "", "testclient"])
async def test_another_machine_is_not(path: str, peer: str) -> None:
    assert await status(path, peer=peer) == 403


@pytest.mark.parametrize("path", OPERATORS)
@pytest.mark.parametrize(
    "host",
    ["bot.example.com", "203.0.113.9:8000", "localhost.example.com", "127.0.0.1.example.com", "", "0.0.0.0", "[::]:80"],
)
async def test_a_public_host_is_a_strangers(path: str, host: str) -> None:
    """Behind a proxy, or by a page that has its own name lead to this machine."""
    assert await status(path, host=host) == 403


@pytest.mark.parametrize(
    "header",
    [
        "Forwarded",
        "Via",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Server",
        "X-Real-IP",
        "X-Client-IP",
        "X-Original-Forwarded-For",
        "X-Envoy-External-Address",
        "True-Client-IP",
        "CF-Connecting-IP",
        "CF-Ray",
        "CDN-Loop",
        "Fastly-Client-IP",
        "CloudFront-Viewer-Address",
        "X-Azure-ClientIP",
        "X-Amzn-Trace-Id",
    ],
)
async def test_what_a_proxy_adds_is_a_strangers(header: str) -> None:
    assert await status("/metrics", **{header.replace("-", "_"): "198.51.100.7"}) == 403
    assert await status("/metrics", **{header.replace("-", "_"): ""}) == 403


async def test_the_protocol_of_an_old_proxy_is_a_strangers() -> None:
    sent: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            sent.append(int(str(message["status"])))

    for version in ("1.0", "1.1", "2"):
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/metrics",
            "query_string": b"",
            "http_version": version,
            "headers": [(b"host", b"127.0.0.1:8000")],
            "client": ("127.0.0.1", 40_000),
        }
        app = create_app(make_settings(), RememberingStore())
        await app(scope, receive, send)  # type: ignore[arg-type]  # plain dicts

    assert sent == [403, 200, 200]


@pytest.mark.parametrize("path", EVERYBODY)
@pytest.mark.parametrize("token", ["", TOKEN])
async def test_whether_it_lives_and_stores_is_told_to_everybody(path: str, token: str) -> None:
    far = {"peer": "203.0.113.9", "host": "bot.example.com", "X_Forwarded_For": "198.51.100.7"}

    assert await status(path, token=token, **far) == 200


async def test_a_refusal_costs_redis_nothing_and_is_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    store = RememberingStore()
    store.failure = RuntimeError("it was asked")
    app = create_app(make_settings(ops_token=TOKEN), store)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answers = [await client.get("/metrics") for _ in range(50)]

    said = "".join(capsys.readouterr()) or caplog.text  # the same line may stand in both
    assert {answer.status_code for answer in answers} == {401}
    assert said.count("operators_only") == 1
    assert TOKEN not in said
