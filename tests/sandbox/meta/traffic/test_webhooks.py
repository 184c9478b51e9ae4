"""The stand-in's webhooks, in batches and in disorder."""

import json
from typing import Any

import httpx
import pytest

from clients.graph.errors import AccountRestricted, ThreadOwnedByAnother, Throttled
from sandbox.meta.delivery import disorder
from sandbox.meta.server import MetaSandbox
from tests.sandbox.meta.traffic.calls import ANOTHER, CUSTOMER, MESSENGER, PAGE, Receiver, graph_of

pytestmark = pytest.mark.anyio


# Webhooks.


async def test_a_batch_is_one_post_with_an_entry_for_each_event(meta: MetaSandbox, receiver: Receiver) -> None:
    items = meta.crowd([CUSTOMER, ANOTHER], 1000)

    assert await meta.deliver_batch(*items) == 200

    [body] = receiver.bodies
    assert len(json.loads(body)["entry"]) == 1000
    assert receiver.texts()[:2] == ["Вопрос 0", "Вопрос 1"]
    with pytest.raises(ValueError, match="1000"):
        await meta.deliver_batch(*meta.crowd([CUSTOMER], 1001))
    with pytest.raises(ValueError, match="one object"):
        await meta.deliver_batch(meta.text(CUSTOMER, "Hi"), meta.text(CUSTOMER, "Hi", account=MESSENGER))


async def test_disorder_doubles_and_mixes_and_repeats_what_is_not_taken(meta: MetaSandbox, receiver: Receiver) -> None:
    receiver.statuses = [503] * 10
    items = meta.crowd([CUSTOMER], 40)

    statuses = await meta.deliver_in_disorder(*items, seed=7, doubled=0.5, late_seconds=0.2)

    texts = receiver.texts()
    assert set(statuses) == {200}
    assert len(texts) == len(statuses) > 45
    assert list(dict.fromkeys(texts)) != [f"Вопрос {number}" for number in range(40)]
    assert set(texts) == {f"Вопрос {number}" for number in range(40)}
    assert meta.lost_webhooks == []


def test_a_seed_repeats_its_disorder(meta: MetaSandbox) -> None:
    items = meta.crowd([CUSTOMER], 20)

    assert disorder(items, seed=1) == disorder(items, seed=1)
    assert disorder(items, seed=1) != disorder(items, seed=2)
    assert [leg.item for leg in disorder(items, seed=1, doubled=0, late_seconds=0)] == items


async def test_another_process_orders_all_of_it(meta: MetaSandbox, receiver: Receiver, http: httpx.AsyncClient) -> None:
    async def order(do: str, **more: Any) -> dict[str, Any]:
        answer = await http.post("/_control", json={"do": do, **more})
        assert answer.status_code == 200
        told: dict[str, Any] = answer.json()
        return told

    graph = graph_of(meta, http, MESSENGER)
    taken = await order("take_thread", customer_id=CUSTOMER, channel="messenger")
    with pytest.raises(ThreadOwnedByAnother):
        await graph.send_text(CUSTOMER, "Hi")
    await order("pass_thread", customer_id=CUSTOMER, account_id=PAGE)
    await order("policy", action="block", channel="messenger")
    with pytest.raises(AccountRestricted):
        await graph.send_text(CUSTOMER, "Hi")
    await order("policy", action="unblock", channel="messenger")
    await order("refuse_as", name="custom_limit")
    with pytest.raises(Throttled):
        await graph.send_text(CUSTOMER, "Hi")
    await order("set_limits", sends=1)
    await graph.send_text(CUSTOMER, "Hi")
    with pytest.raises(Throttled):
        await graph.send_text(CUSTOMER, "Hi")
    await order("refuse_profile", customer_id=CUSTOMER, code=9010)
    batch = await order("batch", customers=[CUSTOMER, ANOTHER], events=5, channel="messenger", text="Q")
    mixed = [{"do": "text", "customer_id": CUSTOMER, "text": str(n)} for n in range(4)]
    disordered = await order("disorder", items=mixed, seed=3, late_seconds=0.05)
    shown = (await http.get("/_sent")).json()

    assert taken["item"]["take_thread_control"]["new_owner_app_id"] == "263902037430900"
    assert batch == {"statuses": [200]}
    assert set(disordered["statuses"]) == {200}
    assert sum(entry["id"] == PAGE for entry in receiver.entries()) == 4 + 5
    assert len(shown["sent"]) == len(shown["throttled"]) == 1
