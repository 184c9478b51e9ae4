"""An account that one process does not have: the others go on with it, and none decides for all."""

from enum import StrEnum

import pytest

from bot.incoming.events import Contact
from runtime.clock import now_ms
from sandbox.meta.faults import Fault
from tests.worker.turning import ACCOUNT, OTHER_ACCOUNT, TurnBench
from worker.services import Services

pytestmark = pytest.mark.anyio
NAME = f"{ACCOUNT.channel.value} {ACCOUNT.id}"
HOUR = 3_600_000


def older(turns: TurnBench) -> Services:
    """A worker whose configuration does not name the account."""
    return turns.another(config={"accounts": (OTHER_ACCOUNT,)})


async def passes(turns: TurnBench, ms: int) -> None:
    """All that is remembered of the missing account is so much older."""
    since = int((await turns.state())["account_missing_since"])
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "account_missing_since", since - ms)
    known = await turns.scripts.command("ZSCORE", "ns:accounts", NAME)
    if known:
        await turns.scripts.command("ZADD", "ns:accounts", float(known) - ms, NAME)


async def test_an_older_worker_leaves_a_new_account_to_the_others(turns: TurnBench) -> None:
    await turns.writes("m")

    words = await turns.turns(3, older(turns))
    state, books, alerts = await turns.state(), await turns.books(), await turns.alerts()
    last = await turns.turn()

    assert words == ["waits: account_missing"] * 3
    assert (state["state"], state["hold_reason"]) == ("held", "account_missing")
    assert books == {"received": 1, "open": 1}
    assert [(alert["rule"], alert["detail"], alert["count"]) for alert in alerts] == [
        ("account_missing", ACCOUNT.id, 1)
    ]
    assert last.startswith("answered")
    assert "account_missing_since" not in await turns.state()


async def test_it_is_looked_at_soon_while_a_process_is_alive_that_has_the_account(turns: TurnBench) -> None:
    await turns.writes("m")
    await turns.turn(older(turns))
    without = float(await turns.scripts.command("ZSCORE", "ns:due", turns.cid)) - now_ms()
    await turns.house.health.beat("worker", "another:1")

    await turns.turn(older(turns))

    assert float(await turns.scripts.command("ZSCORE", "ns:due", turns.cid)) - now_ms() < without / 2


async def test_an_account_that_no_process_has_had_for_an_hour_is_removed(turns: TurnBench) -> None:
    await turns.writes("m")
    await turns.turn(older(turns))
    await passes(turns, HOUR - 60_000)
    before = await turns.turn(older(turns))
    await passes(turns, 120_000)

    word = await turns.turn(older(turns))

    assert before == "waits: account_missing"
    assert word == "undeliverable"
    assert await turns.books() == {"received": 1, "undeliverable": 1}
    assert {alert["rule"] for alert in await turns.alerts()} == {"account_missing", "account_removed"}


async def test_an_account_that_any_process_has_is_never_removed(turns: TurnBench) -> None:
    await turns.writes("m")
    await turns.turn(older(turns))
    await passes(turns, 3 * HOUR)
    await turns.house.health.beat("dispatcher", "another:1")

    assert await turns.turn(older(turns)) == "waits: account_missing"


async def test_a_reply_that_has_partly_arrived_is_finished_as_what_it_is(turns: TurnBench) -> None:
    await turns.writes("m")
    turns.answers("Первая часть.\n\nВторая часть.")
    turns.meta.fault_for(turns.contact.customer_id, Fault("refuse", code=2, subcode=1545133, status=500))
    await turns.turn()
    plan = f"ns:c:{turns.cid}:plan"
    await turns.scripts.command("HSET", plan, "n", 2, "all", 2, "1:text", "И ещё.", "1:hash", "x", "1:state", "planned")
    await turns.scripts.command("HSET", plan, "0:state", "sent")

    held = await turns.turn(older(turns))
    await passes(turns, 2 * HOUR)
    word = await turns.turn(older(turns))

    assert held == "waits: account_missing"
    assert word == "answered"
    assert await turns.books() == {"received": 1, "answered": 1}


async def test_a_window_that_closes_meanwhile_is_told_apart(turns: TurnBench) -> None:
    await turns.writes("m")
    await turns.turn(older(turns))
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "acted_at", now_ms() - 24 * HOUR)

    assert await turns.turn(older(turns)) == "expired"


async def test_a_token_that_one_worker_lacks_rests_nobodys_account(turns: TurnBench) -> None:
    await turns.writes("m")
    without_token = turns.another(config={"accounts": (ACCOUNT.model_copy(update={"token": type(ACCOUNT.token)("")}),)})

    word = await turns.turn(without_token)
    await passes(turns, 5 * HOUR)
    much_later = await turns.turn(without_token)
    last = await turns.turn()

    assert word == much_later == "waits: account_missing"
    assert last.startswith("answered")
    assert [alert["rule"] for alert in await turns.alerts()] == ["account_token_missing"]


class Newer(StrEnum):
    CARRIER_PIGEON = "carrier_pigeon"


async def test_a_channel_of_a_newer_version_is_left_to_it(turns: TurnBench) -> None:
    turns.contact = Contact(Newer.CARRIER_PIGEON, "1", "2")  # type: ignore[arg-type]  # as a newer receiver has it
    await turns.writes("m")

    held = await turns.turn()
    await passes(turns, 2 * HOUR)
    word = await turns.turn()

    assert held == "waits: account_missing"
    assert word == "undeliverable"
    assert await turns.books() == {"received": 1, "undeliverable": 1}
    assert {alert["rule"] for alert in await turns.alerts()} == {"account_missing", "account_removed"}


async def test_words_never_go_to_somebody_else(turns: TurnBench) -> None:
    """Of a conversation whose account or customer is damaged."""
    await turns.writes("m")
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "customer", "9001000000000999")

    words = await turns.turns(4)

    assert words == ["failed: ConversationUnreadable"] * 3 + ["undeliverable"]
    assert [message for message in turns.meta.sent if message.get("to") == "9001000000000999"] == []
    assert [alert["rule"] for alert in await turns.alerts()] == ["unreadable"]
    await turns.writes("n")
    assert (await turns.turn()).startswith("answered")
