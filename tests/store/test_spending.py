"""What the models cost: summed for all workers, and a store that is away costs a figure at most."""

import pytest

from runtime.embedded import EmbeddedValkey
from sandbox.patience import PATIENCE_SECONDS
from store.connection import connect
from store.scripts import Scripts
from store.spending import Spending

pytestmark = pytest.mark.anyio


async def test_what_one_worker_adds_another_reads(scripts: Scripts) -> None:
    await Spending(scripts).add(0.2, conversation_id="c0ffee")
    await Spending(scripts).add(0.05, conversation_id="decaf")

    assert await Spending(scripts).today() == pytest.approx(0.25)


async def test_a_cost_of_a_customer_who_was_erased_counts_for_the_day_alone(scripts: Scripts) -> None:
    assert await Spending(scripts).add(0.2, conversation_id="c0ffee") == pytest.approx(0.2)

    assert await scripts.command("EXISTS", "ns:c:c0ffee") == 0


async def test_without_the_store_the_last_sum_stands_in() -> None:
    with EmbeddedValkey() as server:
        client = connect(server.url, max_connections=2, timeout_seconds=PATIENCE_SECONDS)
        scripts = Scripts(client)
        spending, unseen = Spending(scripts), Spending(scripts)
        await spending.add(0.2, conversation_id="c0ffee")

    assert await spending.today() == pytest.approx(0.2)
    assert await spending.add(0.1, conversation_id="c0ffee") == pytest.approx(0.3)
    assert await unseen.today() == 0.0
    await client.aclose()
