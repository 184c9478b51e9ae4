"""The Meta stand-in's traffic: limits, threads of other apps, blocks, and webhooks in batches and in disorder."""

import asyncio
import json
import threading
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
from clients.graph.api import GraphAPI
from clients.graph.errors import AccountRestricted, ThreadOwnedByAnother, Throttled
from clients.http import make_http_client
from runtime.settings import Account, Environment
from sandbox.meta.delivery import disorder
from sandbox.meta.limits import Limits
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer

pytestmark = pytest.mark.anyio

CUSTOMER, ANOTHER = "9001000000000123", "9001000000000124"
PAGE = "104400000000001"
APP_ID, OTHER_APP = "555000111222333", "777000111222333"
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id=PAGE, token=SecretStr("page-token"))
MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr("messenger-token"))
BOTH = [INSTAGRAM, MESSENGER]


class Receiver:
    """A webhook endpoint that keeps what comes and answers as told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.statuses: list[int] = []
        self._lock = threading.Lock()
        self.app = Starlette(routes=[Route("/webhooks/meta", self._serve, methods=["POST"])])

    async def _serve(self, request: Request) -> Response:
        body = await request.body()
        with self._lock:
            status = self.statuses.pop(0) if self.statuses else 200
            if status == 200:
                self.bodies.append(body)
        return Response(status_code=status)

    def entries(self) -> list[dict[str, Any]]:
        return [entry for body in self.bodies for entry in json.loads(body)["entry"]]

    def texts(self) -> list[str]:
        return [str(entry["messaging"][0]["message"]["text"]) for entry in self.entries()]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Receiver, MetaSandbox]]:
    receiver = Receiver()
    sandbox = MetaSandbox(BOTH, app_secret="invented-app-secret-01", app_id=APP_ID, echo="none")
    with SandboxServer(receiver.app) as webhook, SandboxServer(sandbox.app) as server:
        sandbox.webhook_url = f"{webhook.url}/webhooks/meta"
        sandbox.app.state.url = server.url
        yield receiver, sandbox


@pytest.fixture
def meta(served: tuple[Receiver, MetaSandbox]) -> MetaSandbox:
    served[1].reset()
    return served[1]


@pytest.fixture
def receiver(served: tuple[Receiver, MetaSandbox]) -> Receiver:
    served[0].bodies.clear()
    served[0].statuses.clear()
    return served[0]


@pytest.fixture
async def http(meta: MetaSandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client(base_url=meta.app.state.url) as client:
        yield client


def graph_of(meta: MetaSandbox, http: httpx.AsyncClient, account: Account) -> GraphAPI:
    return GraphAPI(http, account=account, env=Environment(graph_api_url=meta.app.state.url))


async def call(http: httpx.AsyncClient, name: str, **body: Any) -> httpx.Response:
    headers = {"Authorization": "Bearer messenger-token"}
    return await http.post(f"/v26.0/{PAGE}/{name}", json={"recipient": {"id": CUSTOMER}} | body, headers=headers)


async def owner_of_thread(http: httpx.AsyncClient) -> dict[str, Any]:
    headers = {"Authorization": "Bearer messenger-token"}
    answer = await http.get(f"/v26.0/{PAGE}/thread_owner?recipient={CUSTOMER}", headers=headers)
    owner: dict[str, Any] = answer.json()["data"][0]["thread_owner"]
    return owner


# Limits.


@pytest.mark.parametrize(("account", "code"), [(INSTAGRAM, 4), (MESSENGER, 80006)])
async def test_a_third_read_within_a_second_is_throttled_for_its_account_alone(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, code: int
) -> None:
    graph = graph_of(meta, http, account)
    for _ in range(2):
        await graph.fetch_recent_messages(CUSTOMER)

    with pytest.raises(Throttled) as caught:
        await graph.fetch_recent_messages(CUSTOMER)

    assert (caught.value.code, caught.value.retry_after_seconds, graph.usage_percent) == (code, 60, 100)
    assert [throttled["account"] for throttled in meta.throttled] == [account.id]
    [other] = [a for a in BOTH if a is not account]
    await graph_of(meta, http, other).fetch_recent_messages(CUSTOMER)
    await graph.send_text(CUSTOMER, "Hi")


@pytest.mark.parametrize(("account", "code", "subcode"), [(INSTAGRAM, 613, 2534040), (MESSENGER, 613, None)])
async def test_a_send_past_the_limit_does_not_arrive(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, code: int, subcode: int | None
) -> None:
    meta.set_limits(sends=3)
    graph = graph_of(meta, http, account)

    answers = await asyncio.gather(*(graph.send_text(CUSTOMER, "Hi") for _ in range(8)), return_exceptions=True)

    refused = [answer for answer in answers if isinstance(answer, Throttled)]
    assert len(meta.sent) == 8 - len(refused) < 8
    assert {(error.code, error.subcode) for error in refused} == {(code, subcode)}


def test_an_allowance_comes_back_with_the_time() -> None:
    times = iter((0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 9.0, 9.0, 9.0))
    limits = Limits(clock=lambda: next(times))

    allowed = [limits.one_too_many(INSTAGRAM, "reads") is None for _ in range(9)]

    assert allowed == [True, True, False, True, False, True, True, True, False]


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


# Blocks.


async def test_a_blocked_account_is_refused_until_it_is_unblocked(
    meta: MetaSandbox, http: httpx.AsyncClient, receiver: Receiver
) -> None:
    graph = graph_of(meta, http, MESSENGER)
    await meta.deliver(meta.policy("warning", account=MESSENGER))
    await graph.send_text(CUSTOMER, "Still possible")
    codes = []
    for kind in ("page", "policy"):
        await meta.deliver(meta.policy("block", account=MESSENGER, refused_as=kind))
        with pytest.raises(AccountRestricted) as caught:
            await graph.send_text(CUSTOMER, "Hi")
        codes.append((caught.value.code, caught.value.subcode))
    await graph_of(meta, http, INSTAGRAM).send_text(CUSTOMER, "Another account")
    await meta.deliver(meta.policy("unblock", account=MESSENGER))
    await graph.send_text(CUSTOMER, "Possible again")

    assert codes == [(10, 1893063), (368, None)]
    assert [sent["text"] for sent in meta.sent] == ["Still possible", "Another account", "Possible again"]
    told = [entry["messaging"][0]["policy_enforcement"]["action"] for entry in receiver.entries()]
    assert told == ["warning", "block", "block", "unblock"]


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
