"""The stand-in's limits and blocks: one account's calls, and an account that Meta has blocked."""

import asyncio

import httpx
import pytest

from clients.graph.errors import AccountRestricted, Throttled
from runtime.settings import Account
from sandbox.meta.limits import Limits
from sandbox.meta.server import MetaSandbox
from tests.clients.graph.calls import read_back
from tests.sandbox.meta.traffic.calls import (
    BOTH,
    CUSTOMER,
    INSTAGRAM,
    MESSENGER,
    Receiver,
    graph_of,
)

pytestmark = pytest.mark.anyio


# Limits.


@pytest.mark.parametrize(("account", "code"), [(INSTAGRAM, 4), (MESSENGER, 80006)])
async def test_a_third_read_within_a_second_is_throttled_for_its_account_alone(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, code: int
) -> None:
    graph = graph_of(meta, http, account)
    for _ in range(2):
        await read_back(graph)

    with pytest.raises(Throttled) as caught:
        await read_back(graph)

    assert (caught.value.code, caught.value.retry_after_seconds) == (code, 60)
    assert [throttled["account"] for throttled in meta.throttled] == [account.id]
    [other] = [a for a in BOTH if a is not account]
    await read_back(graph_of(meta, http, other))
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
