"""Before a model is paid the conversation is read, if nobody else waits to read: people are not talked over."""

import pytest

from bot.conversation import Conversation
from bot.incoming.events import Contact, CustomerMessage, MessageKind
from runtime.clock import now_ms
from runtime.settings import Account, Shift
from store.accounts.pacing import Pacing
from store.schedule import Schedule
from store.turns.conversations import Claimed, Conversations
from store.turns.lease import Lease, LeaseLost
from tests.worker.reading_bench import INSTAGRAM, LOGIN, ReadingBench
from worker.backfill.missed_answers import look_back

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"


@pytest.fixture
def bench(reading_bench: ReadingBench) -> ReadingBench:
    return reading_bench


async def asked(bench: ReadingBench, *, seconds_ago: float = 10) -> tuple[Lease, Conversation]:
    """A customer's question, which Meta knows as well, and the turn that is to answer it."""
    at_ms = now_ms() - round(seconds_ago * 1000)
    item = bench.meta.text(CUSTOMER, "Есть синяя?", at_ms=at_ms, mid="question")
    bench.meta.lose(item)
    contact = Contact(bench.account.channel, bench.account.id, CUSTOMER)
    await bench.inbox.receive([CustomerMessage(contact, MessageKind.MESSAGE, "question", at_ms, "Есть синяя?")])
    await Schedule(bench.scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(bench.scripts, bench.settings).claim(contact.conversation_id)
    assert isinstance(claimed, Claimed), claimed
    return claimed.lease, claimed.conversation


def managers(bench: ReadingBench, text: str, *, seconds_ago: float = 5) -> None:
    """Words typed in the app, of which no webhook tells."""
    bench.meta.lose(bench.meta.human(CUSTOMER, text, at_ms=now_ms() - round(seconds_ago * 1000)))


@pytest.mark.parametrize("account", [INSTAGRAM, LOGIN])
async def test_a_managers_words_end_the_turn(bench: ReadingBench, account: Account) -> None:
    bench.account = account
    bench.meta.accounts = [account]
    lease, conversation = await asked(bench)
    managers(bench, "Минуту, посмотрю")

    assert await look_back(bench.reading, conversation, account)

    with pytest.raises(LeaseLost):
        await lease.reread()
    assert await bench.sums() == {"received": 1, "open": 1}
    assert bench.meta.throttled == []


async def test_words_before_the_question_are_no_answer_to_it(bench: ReadingBench) -> None:
    managers(bench, "Здравствуйте", seconds_ago=30)
    _, conversation = await asked(bench)

    assert not await look_back(bench.reading, conversation, bench.account)


async def test_known_words_are_not_handed_over_again(bench: ReadingBench) -> None:
    _, conversation = await asked(bench)
    managers(bench, "Минуту")
    await look_back(bench.reading, conversation, bench.account)
    await bench.scripts.command("DEL", f"ns:line:{bench.account.channel}:{bench.account.id}:read")

    assert not await look_back(bench.reading, conversation, bench.account)


async def test_metas_automatic_reply_is_nobody(bench: ReadingBench) -> None:
    bench.shift = Shift(ignore_auto_replies_seconds=5)
    _, conversation = await asked(bench)
    managers(bench, "Спасибо за сообщение!", seconds_ago=8)

    assert not await look_back(bench.reading, conversation, bench.account)

    assert bench.meta.served["reads"] == 1


async def test_nobody_waits_for_a_place(bench: ReadingBench) -> None:
    _, conversation = await asked(bench)
    managers(bench, "Минуту")
    await Pacing(bench.scripts).take(bench.account, "read", patience_seconds=0)

    assert not await look_back(bench.reading, conversation, bench.account)

    assert bench.meta.served["reads"] == 0


@pytest.mark.parametrize("how", ["refused", "garbage", "hanging"])
async def test_a_look_that_fails_changes_nothing(bench: ReadingBench, how: str) -> None:
    lease, conversation = await asked(bench)
    managers(bench, "Минуту")
    match how:
        case "refused":
            bench.meta.refuse_next(2, on="reads")
        case "garbage":
            bench.meta.answer_garbage_next(on="reads")
        case _:
            bench.meta.hang_next(20, on="reads")

    assert not await look_back(bench.reading, conversation, bench.account)

    assert (await lease.reread()).messages == conversation.messages
