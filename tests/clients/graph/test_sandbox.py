"""The Meta stand-in speaks for the real one in every other test, so its own half is held to the facts here."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.incoming.events import Channel
from clients.http import make_http_client
from runtime.settings import Account
from sandbox.meta.server import Echo, MetaSandbox
from sandbox.meta.webhooks import encode, sign
from sandbox.server import SandboxServer

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"
PAGE = "104400000000001"
SECRET = "invented-app-secret-01"
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id=PAGE, token=SecretStr("instagram-token"))
MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr("messenger-token"))


class Receiver:
    """A webhook endpoint that keeps what comes and answers as told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.signatures: list[str] = []
        self.statuses: list[int] = []
        self.come = threading.Condition()
        self.app = Starlette(routes=[Route("/webhooks/meta", self._serve, methods=["POST"])])

    async def _serve(self, request: Request) -> Response:
        body = await request.body()
        with self.come:
            self.bodies.append(body)
            self.signatures.append(request.headers["x-hub-signature-256"])
            status = self.statuses.pop(0) if self.statuses else 200
            self.come.notify_all()
        return Response(status_code=status)

    def wait(self, count: int) -> None:
        with self.come:
            assert self.come.wait_for(lambda: len(self.bodies) >= count, 10)

    def items(self) -> list[dict[str, Any]]:
        return [item for body in self.bodies for entry in json.loads(body)["entry"] for item in entry["messaging"]]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Receiver, MetaSandbox]]:
    receiver = Receiver()
    sandbox = MetaSandbox([INSTAGRAM, MESSENGER], app_secret=SECRET, app_id="555000111222333")
    with SandboxServer(receiver.app) as webhook, SandboxServer(sandbox.app) as server:
        sandbox.webhook_url = f"{webhook.url}/webhooks/meta"
        sandbox.app.state.url = server.url
        yield receiver, sandbox


@pytest.fixture
def meta(served: tuple[Receiver, MetaSandbox]) -> MetaSandbox:
    _, sandbox = served
    sandbox.reset()
    sandbox.accounts = [INSTAGRAM, MESSENGER]
    sandbox.echo = "none"
    return sandbox


@pytest.fixture
def receiver(served: tuple[Receiver, MetaSandbox]) -> Receiver:
    receiver, _ = served
    receiver.bodies.clear()
    receiver.signatures.clear()
    receiver.statuses.clear()
    return receiver


@pytest.fixture
async def http(meta: MetaSandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client(base_url=meta.app.state.url) as client:
        yield client


async def send(http: httpx.AsyncClient, account: Account, body: dict[str, Any]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {account.token.get_secret_value()}"}
    return await http.post(f"/v26.0/{PAGE}/messages", json=body, headers=headers)


def test_bytes_and_signature_are_metas_own() -> None:
    item = {
        "sender": {"id": CUSTOMER},
        "recipient": {"id": "17841400000000042"},
        "timestamp": 1790000000001,
        "message": {"mid": "aWdfTEST_0001", "text": "Привет café 🚀 a/b"},
    }
    entry = {"id": "17841400000000042", "time": 1790000000123, "messaging": [item]}

    body = encode({"object": "instagram", "entry": [entry]})

    assert len(body) == 304
    assert sign(body, SECRET) == "sha256=7bcc9a9a6f9b5c361e32deadcc6c51a2972939fe3b32ef606fc67ec6c0b29c2c"


async def test_customers_and_managers_reach_the_webhook(meta: MetaSandbox, receiver: Receiver) -> None:
    statuses = await meta.deliver(
        meta.text(CUSTOMER, "Здравствуйте"),
        meta.postback(CUSTOMER, title="Hours", payload="HOURS"),
        meta.attachment(CUSTOMER, kind="ephemeral"),
        meta.attachment(CUSTOMER, url="https://cdn.example.invalid/x"),
        meta.human(CUSTOMER, "Отвечу сам"),
        meta.read(CUSTOMER, mid="m1"),
        meta.text("7000000000000011", "Hello", account=MESSENGER),
        meta.human("7000000000000011", "Maria here", account=MESSENGER),
    )

    assert statuses == [200, 200]
    assert [json.loads(body)["object"] for body in receiver.bodies] == ["instagram", "page"]
    assert receiver.signatures == [sign(body, SECRET) for body in receiver.bodies]
    text, postback, viewed_once, image, human, read, hello, maria = receiver.items()
    assert text["message"]["text"] == "Здравствуйте"
    assert postback["postback"]["payload"] == "HOURS"
    assert viewed_once["message"]["attachments"] == [{"type": "ephemeral"}]
    assert image["message"]["attachments"][0]["payload"]["url"] == "https://cdn.example.invalid/x"
    assert (human["message"]["is_echo"], human["sender"]["id"]) == (True, INSTAGRAM.id)
    assert "app_id" not in human["message"]
    assert read["read"] == {"mid": "m1"}
    assert hello["recipient"]["id"] == PAGE
    assert maria["message"]["app_id"] == 263902037430900


@pytest.mark.parametrize("echo", ["before", "after"])
async def test_what_is_sent_comes_back_as_an_echo(
    meta: MetaSandbox, receiver: Receiver, http: httpx.AsyncClient, echo: Echo
) -> None:
    meta.echo = echo
    body = {"recipient": {"id": "7000000000000011"}, "message": {"text": "Да", "metadata": "run:1"}}

    answer = await send(http, MESSENGER, body)
    come_with_the_answer = len(receiver.bodies)
    await asyncio.to_thread(receiver.wait, 1)

    (item,) = receiver.items()
    assert item["sender"]["id"] == PAGE
    assert item["message"] == {
        "mid": answer.json()["message_id"],
        "text": "Да",
        "is_echo": True,
        "app_id": 555000111222333,
        "metadata": "run:1",
    }
    if echo == "before":
        assert come_with_the_answer == 1


async def test_instagram_echoes_carry_neither_app_nor_metadata(
    meta: MetaSandbox, receiver: Receiver, http: httpx.AsyncClient
) -> None:
    meta.echo = "after"
    await send(http, INSTAGRAM, {"recipient": {"id": CUSTOMER}, "message": {"text": "Hi", "metadata": "run:1"}})
    await asyncio.to_thread(receiver.wait, 1)

    (item,) = receiver.items()
    assert set(item["message"]) == {"mid", "text", "is_echo"}
    assert len(item["message"]["mid"]) > 150


@pytest.mark.parametrize("fault", ["lose_answer_next", "answer_garbage_next"])
async def test_a_message_whose_answer_is_lost_still_has_its_echo(
    meta: MetaSandbox, receiver: Receiver, http: httpx.AsyncClient, fault: str
) -> None:
    getattr(meta, fault)()
    meta.echo = "after"

    try:
        await send(http, INSTAGRAM, {"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}})
    except httpx.RemoteProtocolError:
        assert fault == "lose_answer_next"
    await asyncio.to_thread(receiver.wait, 1)

    assert receiver.items()[0]["message"]["mid"] == meta.sent[0]["mid"]


async def test_a_webhook_that_is_not_taken_is_tried_again(meta: MetaSandbox, receiver: Receiver) -> None:
    receiver.statuses = [503, 500]

    statuses = await meta.deliver(meta.text(CUSTOMER, "Hi"), tries=3)

    assert statuses == [200]
    assert len(set(receiver.bodies)) == 1
    assert len(receiver.bodies) == 3
    assert meta.lost_webhooks == []


async def test_a_webhook_that_is_never_taken_is_listed(meta: MetaSandbox, receiver: Receiver) -> None:
    receiver.statuses = [503]

    statuses = await meta.deliver(meta.text(CUSTOMER, "Hi"))

    assert statuses == [503]
    assert meta.lost_webhooks == receiver.bodies


@pytest.mark.parametrize(
    ("body", "code", "subcode"),
    [
        ({"message": {"text": "Hi"}}, 100, None),
        ({"recipient": {"id": CUSTOMER}}, 100, None),
        ({"recipient": {"id": CUSTOMER}, "message": {"text": ""}}, 100, None),
        ({"recipient": {"id": CUSTOMER}, "message": {"text": "  "}}, 100, None),
        ({"recipient": {"id": CUSTOMER}, "message": {"text": "a" * 1001}}, 100, None),
        ({"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}, "tag": "HUMAN_AGENT"}, 100, None),
        ({"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}, "messaging_type": "MESSAGE_TAG"}, 100, None),
        ({"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}, "sender_action": "typing_on"}, 100, 2018014),
        ({"recipient": {"id": CUSTOMER}, "sender_action": "dance"}, 100, None),
        ({"recipient": {"id": "17841400000000042"}, "message": {"text": "Hi"}}, 100, 2534014),
    ],
)
async def test_it_refuses_what_meta_refuses(
    meta: MetaSandbox, http: httpx.AsyncClient, body: dict[str, Any], code: int, subcode: int | None
) -> None:
    answer = await send(http, INSTAGRAM, body)

    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"].get("error_subcode")) == (code, subcode)
    assert (meta.sent, meta.actions) == ([], [])


async def test_a_token_in_the_address_is_no_token(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    body = {"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}}

    answer = await http.post(f"/v26.0/{PAGE}/messages?access_token=instagram-token", json=body)

    assert answer.json()["error"]["code"] == 190
    assert meta.sent == []


async def test_one_page_token_serves_both_channels_by_recipient(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    meta.accounts = [INSTAGRAM, MESSENGER.model_copy(update={"token": INSTAGRAM.token})]
    meta.customer_wrote(CUSTOMER, channel="instagram")
    meta.customer_wrote("7000000000000011", channel="messenger")

    for customer in (CUSTOMER, "7000000000000011"):
        await send(http, INSTAGRAM, {"recipient": {"id": customer}, "message": {"text": "Hi"}})

    assert [sent["channel"] for sent in meta.sent] == ["instagram", "messenger"]


async def test_messages_past_the_newest_twenty_cannot_be_read(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    meta.set_limits()
    now = int(time.time() * 1000)
    for number in range(21):
        meta.store.note_item(meta.text(CUSTOMER, "Hi", mid=f"mid-{number}", at_ms=now + number))
    headers = {"Authorization": "Bearer instagram-token"}

    oldest = await http.get("/v26.0/mid-0?fields=id,message", headers=headers)
    readable = await http.get("/v26.0/mid-1?fields=id,message", headers=headers)
    nonsense = await http.get("/v26.0/mid-1?fields=id,unread_count", headers=headers)

    assert oldest.json()["error"]["code"] == 9000001
    assert readable.json() == {"id": "mid-1", "message": "Hi"}
    assert nonsense.json()["error"]["code"] == 100


async def test_a_profile_field_instagram_does_not_know_fails_the_whole_call(
    meta: MetaSandbox, http: httpx.AsyncClient
) -> None:
    meta.customer_wrote(CUSTOMER)
    headers = {"Authorization": "Bearer instagram-token"}

    answer = await http.get(f"/v26.0/{CUSTOMER}?fields=name,profile_picture_url", headers=headers)

    assert answer.json()["error"]["code"] == 100


async def test_another_process_scripts_and_reads_it(
    meta: MetaSandbox, receiver: Receiver, http: httpx.AsyncClient
) -> None:
    message = {"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}}

    await http.post("/_control", json={"do": "refuse_next", "code": 10, "subcode": 2534022})
    refused = await send(http, INSTAGRAM, message)
    spoken = await http.post("/_control", json={"do": "text", "customer_id": CUSTOMER, "text": "Алло"})
    unknown = await http.post("/_control", json={"do": "__init__"})
    await send(http, INSTAGRAM, message)
    shown = (await http.get("/_sent")).json()

    assert refused.json()["error"]["error_subcode"] == 2534022
    assert spoken.json()["statuses"] == [200]
    assert receiver.items()[0]["message"]["text"] == "Алло"
    assert unknown.status_code == 400
    assert [sent["text"] for sent in shown["sent"]] == ["Hi"]


async def test_a_path_meta_does_not_have_is_an_error(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v26.0/me/likes", json={})

    assert answer.json()["error"]["code"] == 2500
