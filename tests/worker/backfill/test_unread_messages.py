"""A message that Meta has told of without its words is read, stored once, or given up aloud."""

import pytest

from bot.incoming.events import Noted, UnreadMessage
from runtime.clock import now_ms
from store.accounts.pacing import Pacing
from store.accounts.parking import Parking
from tests.worker.reading_bench import INSTAGRAM, LOGIN, MINUTE, ReadingBench

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"


@pytest.fixture
def bench(reading_bench: ReadingBench) -> ReadingBench:
    return reading_bench


async def told(bench: ReadingBench, mid: str, *, at_ms: int | None = None) -> None:
    """Meta's sign comes, and the message has had the time to come by itself."""
    account = bench.account
    unread = UnreadMessage(account.channel, account.id, mid, at_ms or now_ms())
    await bench.inbox.receive([Noted("ghost_edit", account.id, unread=unread)])
    await make_due(bench)


async def make_due(bench: ReadingBench) -> None:
    for key in await bench.scripts.command("HKEYS", "ns:unread"):
        await bench.scripts.command("ZADD", "ns:unread:due", "XX", 1, key)


@pytest.mark.parametrize("account", [INSTAGRAM, LOGIN])
async def test_a_customers_message_is_stored_and_open(bench: ReadingBench, account: object) -> None:
    bench.account = account  # type: ignore[assignment]
    bench.meta.accounts = [bench.account]
    bench.lose(CUSTOMER, "Есть синяя?", mid="a")
    await told(bench, "a")

    assert await bench.reader().read_due() == ["read"]

    assert await bench.sums() == {"received": 1, "open": 1}
    assert await bench.counted("found_by_ghost_edit") == 1
    assert await bench.scripts.command("EXISTS", "ns:unread", "ns:unread:due") == 0


async def test_one_whose_worker_died_before_it_could_forget_it_is_stored_once(bench: ReadingBench) -> None:
    bench.lose(CUSTOMER, "Привет", mid="a")
    await told(bench, "a")
    [taken] = await bench.outbox.take(1)
    message = await bench.reading.of(bench.account).message("a", now_ms=now_ms())
    assert message is not None
    contact = message.contact(bench.account.channel, bench.account.id, {bench.account.id})
    assert contact is not None
    await bench.reading.receive([message.event(contact, now_ms=now_ms(), found="ghost_edit")])
    await make_due(bench)  # the lease of `taken` is over

    assert await bench.reader().read_due() == ["known"]

    assert taken.mid == "a"
    assert await bench.sums() == {"received": 1, "open": 1}


async def test_one_that_cannot_be_read_yet_is_tried_again(bench: ReadingBench) -> None:
    await told(bench, "a")
    reader = bench.reader(5.0)
    assert await reader.read_due() == ["again"]
    assert await reader.read_due() == []  # it waits

    bench.lose(CUSTOMER, "Привет", mid="a")
    await make_due(bench)

    assert await reader.read_due() == ["read"]
    assert await bench.sums() == {"received": 1, "open": 1}


async def test_one_that_stays_unreadable_is_told_to_the_managers_once(bench: ReadingBench) -> None:
    for mid in ("a", "b"):
        await told(bench, mid)
        assert await bench.reader(5.0).read_due() == ["again"]
        await make_due(bench)
        assert await bench.reader(5.0).read_due() == ["unreadable"]

    assert await bench.scripts.command("HKEYS", "ns:alerts") == [f"unread:instagram:{INSTAGRAM.id}"]
    assert await bench.scripts.command("EXISTS", "ns:unread", "ns:unread:due") == 0
    assert await bench.counted("unread_unreadable") == 2


@pytest.mark.parametrize(("reason", "reads"), [("throttled", 0), ("token", 0), ("policy_block", 1)])
async def test_an_account_that_rests_is_read_unless_reading_would_fail_or_prolong_it(
    bench: ReadingBench, reason: str, reads: int
) -> None:
    bench.lose(CUSTOMER, "Привет", mid="a")
    await Parking(bench.scripts).park(bench.account, reason, 300)
    await told(bench, "a")

    assert await bench.reader().read_due() == (["read"] if reads else ["again"])

    assert bench.meta.served["reads"] == reads


async def test_waiting_for_an_account_is_no_failure(bench: ReadingBench) -> None:
    await told(bench, "a")
    await Parking(bench.scripts).park(bench.account, "throttled", 300)
    await bench.reader().read_due()
    await make_due(bench)

    [taken] = await bench.outbox.take(1)

    assert taken.failures == 0


async def test_a_sign_at_an_old_message_is_no_new_message(bench: ReadingBench) -> None:
    bench.lose(CUSTOMER, "Вчера", minutes_ago=90, mid="a")
    await told(bench, "a")

    assert await bench.reader().read_due() == ["old"]

    assert await bench.sums() == {}


async def test_after_a_day_nobody_waits_any_more(bench: ReadingBench) -> None:
    await told(bench, "a", at_ms=now_ms() - 23 * 60 * MINUTE - 1000)
    await Parking(bench.scripts).park(bench.account, "throttled", 300)

    assert await bench.reader().read_due() == ["unreadable"]


async def test_reads_keep_to_the_accounts_line(bench: ReadingBench) -> None:
    for mid in "abcdefgh":
        bench.lose(CUSTOMER, "Привет", mid=mid)
        await told(bench, mid)
    for _ in range(200):  # a hundred seconds of line: who would wait for so long comes later
        await Pacing(bench.scripts).take(bench.account, "read", patience_seconds=1000)

    words = await bench.reader().read_due()

    assert words == ["again"] * 8
    assert bench.meta.served["reads"] == 0


async def test_an_account_that_this_worker_does_not_have_is_left_to_the_others_for_an_hour(bench: ReadingBench) -> None:
    for mid, at_ms in (("a", now_ms()), ("b", now_ms() - 61 * MINUTE)):
        unread = UnreadMessage(bench.account.channel, "17841400000000999", mid, at_ms)
        await bench.inbox.receive([Noted("ghost_edit", "17841400000000999", unread=unread)])
    await make_due(bench)

    assert sorted(await bench.reader().read_due()) == ["again", "foreign"]
