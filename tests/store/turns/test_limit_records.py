"""What the store keeps for a customer's limits: written with the outcome, gone with its hour and its day."""

from typing import Any

import pytest

from bot.conversation import Conversation
from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from bot.limits import COST, HOUR_MS, Limited
from bot.outcome import Outcome, SilenceReason
from runtime.clock import now_ms
from runtime.config import CustomerLimits
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.spending import Spending
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Lease
from tests.store.telling import answered
from worker.limits import fields_of_turn

pytestmark = pytest.mark.anyio
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
CID = CONTACT.conversation_id
LIMITS = CustomerLimits(turns_per_customer_hour=30)


async def claimed(scripts: Scripts, settings: Settings, *texts: str) -> tuple[Lease, Conversation]:
    await Inbox(scripts, settings).receive(
        [
            CustomerMessage(CONTACT, MessageKind.MESSAGE, f"{text}{now_ms()}", text=text, at_ms=now_ms())
            for text in texts
        ]
    )
    await Schedule(scripts).pop_due(limit=10, quota=10)
    answer = await Conversations(scripts, settings).claim(CID)
    assert isinstance(answer, Claimed), answer
    return answer.lease, answer.conversation


async def end_turn(scripts: Scripts, settings: Settings, *texts: str, rule: str = "") -> Conversation:
    lease, conversation = await claimed(scripts, settings, *texts)
    keys = [message.key for message in conversation.messages]
    fields = fields_of_turn(conversation, keys, rule, LIMITS)
    await answered(scripts, settings, lease, conversation, fields=fields)
    return conversation


async def test_a_turn_is_counted_in_the_step_that_books_its_outcome(scripts: Scripts, settings: Settings) -> None:
    before = await end_turn(scripts, settings, "Сколько стоит кружка?", "и тарелка?")

    _, after = await claimed(scripts, settings, "а доставка?")

    assert before.turns == ()
    (turn,) = after.turns
    assert turn.burst.first_ms == before.oldest_received_ms
    assert turn.burst.letters == len("Сколькостоиткружкаитарелка")
    assert before.now_ms <= turn.ended_ms <= after.now_ms


async def test_a_turn_whose_lease_is_lost_counts_nothing(scripts: Scripts, settings: Settings) -> None:
    lease, conversation = await claimed(scripts, settings, "Привет")
    await scripts.command("HSET", f"ns:c:{CID}", "token", "somebody-else")

    keys = [message.key for message in conversation.messages]
    with pytest.raises(Exception, match="finish"):
        await lease.finish(Outcome.ANSWERED, keys, fields=fields_of_turn(conversation, keys, COST, LIMITS))

    assert await scripts.command("EXISTS", f"ns:c:{CID}:turns") == 0
    assert await scripts.command("HGET", f"ns:c:{CID}", "limited") is None


async def test_turns_are_kept_for_an_hour_and_no_more_of_them_than_count(scripts: Scripts, settings: Settings) -> None:
    for number in range(33):
        await end_turn(scripts, settings, f"вопрос {number}")

    assert await scripts.command("LLEN", f"ns:c:{CID}:turns") == 30
    assert 0 < await scripts.command("PTTL", f"ns:c:{CID}:turns") <= HOUR_MS


async def test_a_limit_that_was_reached_is_remembered_with_its_time(scripts: Scripts, settings: Settings) -> None:
    told = await end_turn(scripts, settings, "Привет", rule=COST)

    _, after = await claimed(scripts, settings, "Ау")

    assert after.limited == Limited(COST, told.now_ms)


async def test_a_silenced_message_is_no_turn(scripts: Scripts, settings: Settings) -> None:
    lease, conversation = await claimed(scripts, settings, "Привет")

    await lease.finish(Outcome.SILENCED, [m.key for m in conversation.messages], why=SilenceReason.FLOOD)

    assert await scripts.command("EXISTS", f"ns:c:{CID}:turns") == 0


async def test_what_a_customer_costs_is_summed_for_a_day(scripts: Scripts, settings: Settings) -> None:
    spending = Spending(scripts)
    await end_turn(scripts, settings, "Привет")

    await spending.add(0.2, conversation_id=CID)
    total = await spending.add(0.000000125, conversation_id=CID)

    _, conversation = await claimed(scripts, settings, "Ещё")
    assert conversation.spent_today == pytest.approx(0.200000125)
    assert total == pytest.approx(0.200000125)


async def test_another_day_begins_at_nothing(scripts: Scripts, settings: Settings) -> None:
    spending = Spending(scripts)
    await end_turn(scripts, settings, "Привет")
    await spending.add(0.2, conversation_id=CID)
    await scripts.command("HINCRBY", f"ns:c:{CID}", "spent_day", -1)

    _, yesterday = await claimed(scripts, settings, "Ещё")
    await spending.add(0.1, conversation_id=CID)

    assert yesterday.spent_today == 0
    assert float(await scripts.command("HGET", f"ns:c:{CID}", "spent")) == pytest.approx(0.1)


async def test_records_that_cannot_be_read_cost_a_limit_and_no_turn(scripts: Scripts, settings: Settings) -> None:
    await scripts.command("RPUSH", f"ns:c:{CID}:turns", "nonsense", "1 2 3 4 5")

    _, conversation = await claimed(scripts, settings, "Привет")

    assert len(conversation.turns) == 1


async def test_everything_is_found_from_the_customers_id(scripts: Scripts, settings: Settings) -> None:
    await end_turn(scripts, settings, "Привет", rule=COST)
    await Spending(scripts).add(0.2, conversation_id=CID)

    names: list[Any] = await scripts.command("KEYS", "ns:*")
    fields = dict(await scripts.command("HGETALL", f"ns:c:{CID}"))

    assert f"ns:c:{CID}:turns" in {str(name) for name in names}
    assert {"spent", "spent_day", "limited"} <= fields.keys()
