"""The stand-in passes threads from one app to another, as Meta does."""

from typing import Any

import httpx
import pytest

from clients.graph.errors import ThreadOwnedByAnother
from runtime.settings import Account
from sandbox.meta.server import MetaSandbox
from tests.sandbox.meta.traffic.calls import (
    ANOTHER,
    APP_ID,
    CUSTOMER,
    INSTAGRAM,
    MESSENGER,
    OTHER_APP,
    PAGE,
    Receiver,
    graph_of,
)

pytestmark = pytest.mark.anyio


async def call(http: httpx.AsyncClient, name: str, **body: Any) -> httpx.Response:
    headers = {"Authorization": "Bearer messenger-token"}
    return await http.post(f"/v26.0/{PAGE}/{name}", json={"recipient": {"id": CUSTOMER}} | body, headers=headers)


async def owner_of_thread(http: httpx.AsyncClient) -> dict[str, Any]:
    headers = {"Authorization": "Bearer messenger-token"}
    answer = await http.get(f"/v26.0/{PAGE}/thread_owner?recipient={CUSTOMER}", headers=headers)
    owner: dict[str, Any] = answer.json()["data"][0]["thread_owner"]
    return owner


# Threads of other apps.


@pytest.mark.parametrize(("account", "code", "subcode"), [(INSTAGRAM, 100, 2534037), (MESSENGER, 10, 2018300)])
async def test_nobody_writes_into_a_thread_that_another_app_has(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, code: int, subcode: int
) -> None:
    graph = graph_of(meta, http, account)
    meta.take_thread(CUSTOMER, account=account)

    with pytest.raises(ThreadOwnedByAnother) as caught:
        await graph.send_text(CUSTOMER, "Hi")
    await graph.send_text(ANOTHER, "Hi")
    meta.pass_thread(CUSTOMER, account=account)
    await graph.send_text(CUSTOMER, "Hi again")
    meta.take_thread(CUSTOMER, account=account)
    meta.release_thread(CUSTOMER, account=account)
    await graph.send_text(CUSTOMER, "And again")

    assert (caught.value.code, caught.value.subcode) == (code, subcode)
    assert [sent["text"] for sent in meta.sent] == ["Hi", "Hi again", "And again"]


async def test_what_is_said_in_a_thread_of_another_app_comes_on_standby(meta: MetaSandbox, receiver: Receiver) -> None:
    taken = meta.take_thread(CUSTOMER, account=MESSENGER)
    await meta.deliver(taken)
    await meta.deliver(meta.text(CUSTOMER, "Hello", account=MESSENGER))
    await meta.deliver(meta.postback(CUSTOMER, title="Start", payload="START", account=MESSENGER))
    await meta.deliver(meta.text(ANOTHER, "Hello", account=MESSENGER))
    await meta.deliver(meta.request_thread(CUSTOMER, by=OTHER_APP, account=MESSENGER))
    await meta.deliver(meta.pass_thread(CUSTOMER, account=MESSENGER))
    await meta.deliver(meta.text(CUSTOMER, "Hello", account=MESSENGER))

    fields = [next(field for field in ("messaging", "standby") if field in entry) for entry in receiver.entries()]
    assert fields == ["messaging", "standby", "standby", "messaging", "messaging", "messaging", "messaging"]
    items = [entry[field][0] for entry, field in zip(receiver.entries(), fields, strict=True)]
    assert items[0]["take_thread_control"]["new_owner_app_id"] == "263902037430900"
    assert items[2]["postback"].keys() == {"mid", "title"}
    assert items[4]["request_thread_control"]["requested_owner_app_id"] == int(OTHER_APP)
    assert items[5]["pass_thread_control"]["new_owner_app_id"] == APP_ID


async def test_threads_change_hands_by_calls_too(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    assert await owner_of_thread(http) == {}
    await call(http, "pass_thread_control", target_app_id=OTHER_APP)
    assert (await owner_of_thread(http))["app_id"] == OTHER_APP
    assert (await call(http, "release_thread_control")).json()["error"]["error_subcode"] == 2018300
    assert (await call(http, "request_thread_control")).json() == {"success": True}

    assert (await call(http, "take_thread_control")).json() == {"success": True}
    assert (await owner_of_thread(http))["app_id"] == APP_ID
    await call(http, "release_thread_control")
    assert await owner_of_thread(http) == {}
    meta.has_routing = False
    assert (await call(http, "take_thread_control")).json()["error"]["code"] == 27
