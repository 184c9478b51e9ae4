"""What the stand-in refuses because Meta does, and what cannot be read from it."""

import time
from typing import Any

import httpx
import pytest

from sandbox.meta.server import MetaSandbox
from tests.sandbox.meta.served import CUSTOMER, INSTAGRAM, MESSENGER, PAGE, send

pytestmark = pytest.mark.anyio


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


async def test_a_path_meta_does_not_have_is_an_error(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v26.0/me/likes", json={})

    assert answer.json()["error"]["code"] == 2500
