"""The Meta stand-in speaks for the real one in every other test, so its own half is held to the facts here."""

import asyncio
import json

import httpx
import pytest

from sandbox.meta.server import Echo, MetaSandbox
from sandbox.meta.webhooks import encode, sign
from tests.sandbox.meta.served import CUSTOMER, INSTAGRAM, MESSENGER, PAGE, SECRET, Receiver, send

pytestmark = pytest.mark.anyio


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
