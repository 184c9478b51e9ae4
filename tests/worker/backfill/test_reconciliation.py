"""The conversations that Meta keeps are looked through, by one process at a time and behind everybody else."""

import asyncio

import pytest

from bot.incoming.events import Channel
from runtime.clock import now_ms
from runtime.settings import Account
from store.accounts.marks import Marks
from store.accounts.pacing import Pacing, Slot
from store.accounts.parking import Parking
from tests.worker.reading_bench import INSTAGRAM, LOGIN, MINUTE, ReadingBench

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"


@pytest.fixture
async def bench(reading_bench: ReadingBench) -> ReadingBench:
    await reading_bench.installed(minutes_ago=600)
    return reading_bench


async def rested(bench: ReadingBench) -> None:
    """As if half a period had passed since the last look."""
    await bench.scripts.command("DEL", f"ns:reconciling:{bench.account.channel}:{bench.account.id}")


@pytest.mark.parametrize("account", [INSTAGRAM, LOGIN])
async def test_a_lost_message_is_found_once(bench: ReadingBench, account: Account) -> None:
    bench.account = account
    bench.meta.accounts = [account]
    await bench.installed(minutes_ago=600)
    bench.lose(CUSTOMER, "Вы тут?")

    assert await bench.reconciler().reconcile() == "1 found"
    await rested(bench)
    assert await bench.reconciler().reconcile() == "nothing lost"

    assert await bench.sums() == {"received": 1, "open": 1}
    assert await bench.counted("found_by_reconcile") == 1
    assert bench.meta.throttled == []


async def test_known_messages_are_not_read_one_by_one(bench: ReadingBench) -> None:
    bench.account = LOGIN
    bench.meta.accounts = [LOGIN]
    await bench.installed(minutes_ago=600)
    for number in range(5):
        bench.lose(CUSTOMER, f"Вопрос {number}", minutes_ago=5 - number / 2)
    await bench.reconciler().reconcile()
    read = bench.meta.served["reads"]
    await rested(bench)

    await bench.reconciler().reconcile()

    assert read == 1 + 5
    assert bench.meta.served["reads"] == read + 1


async def test_nothing_before_the_installation_is_answered(bench: ReadingBench) -> None:
    await bench.installed(minutes_ago=3)
    bench.lose(CUSTOMER, "До", minutes_ago=4)
    bench.lose(CUSTOMER, "После", minutes_ago=2)

    assert await bench.reconciler().reconcile() == "1 found"

    assert await bench.sums() == {"received": 1, "open": 1}


async def test_an_account_that_is_new_here_has_no_past(bench: ReadingBench) -> None:
    await bench.scripts.command("FLUSHALL")
    bench.lose(CUSTOMER, "До")

    assert await bench.reconciler().reconcile() == "nothing lost"


async def test_one_looks_at_a_time_and_not_again_at_once(bench: ReadingBench) -> None:
    bench.lose(CUSTOMER, "Вы тут?")

    words = await asyncio.gather(*(bench.reconciler().reconcile() for _ in range(3)))

    assert sorted(words) == ["1 found", "not yet", "not yet"]
    assert await bench.reconciler().reconcile() == "not yet"
    assert bench.meta.served["reads"] == 1


async def test_a_look_that_failed_is_made_again_and_loses_nothing(bench: ReadingBench) -> None:
    bench.lose(CUSTOMER, "Вы тут?")
    bench.meta.refuse_next(1, on="reads")

    assert await bench.reconciler().reconcile() == "nothing lost, not finished"
    assert await bench.reconciler().reconcile() == "1 found"


async def test_pages_are_turned_until_the_last_look(bench: ReadingBench) -> None:
    for number in range(25):
        bench.lose(f"90010000000{number:05d}", "Вы тут?", minutes_ago=2 if number < 12 else 20)
    await bench.looked(minutes_ago=5, whole_minutes_ago=30)

    assert await bench.reconciler().reconcile() == "12 found"

    assert bench.meta.served["reads"] == 2


async def test_every_now_and_then_a_look_goes_all_the_way(bench: ReadingBench) -> None:
    """A message request comes into the list by its own old time, once somebody has accepted it."""
    bench.lose(CUSTOMER, "Можно вопрос?", minutes_ago=40)
    await bench.looked(minutes_ago=5, whole_minutes_ago=61)

    assert await bench.reconciler().reconcile() == "1 found"


async def test_who_settles_does_not_wait_behind_it(bench: ReadingBench) -> None:
    pacing = Pacing(bench.scripts)
    for number in range(25):
        bench.lose(f"90010000000{number:05d}", "Вы тут?")
    looking = asyncio.create_task(bench.reconciler().reconcile())

    waits = []
    while not looking.done():
        slot = await pacing.take(bench.account, "read", patience_seconds=2)
        assert isinstance(slot, Slot)
        waits.append(slot.seconds)
        await asyncio.sleep(slot.seconds + 0.6)

    assert await looking == "25 found"
    assert max(waits) <= 0.51  # one call of a look, at the most


async def test_a_busy_line_ends_the_look_in_time(bench: ReadingBench) -> None:
    bench.lose(CUSTOMER, "Вы тут?")
    for _ in range(8):
        await Pacing(bench.scripts).take(bench.account, "read", patience_seconds=60)

    assert await bench.reconciler(look_seconds=0.2).reconcile() == "nothing lost, not finished"

    assert bench.meta.served["reads"] == 0


async def test_an_account_that_rests_is_not_read(bench: ReadingBench) -> None:
    await Parking(bench.scripts).park(bench.account, "throttled", 300)

    assert await bench.reconciler().reconcile() == "nothing lost, not finished"
    assert bench.meta.served["reads"] == 0


async def test_many_lost_ones_are_told_and_so_is_their_end(bench: ReadingBench) -> None:
    for number in range(5):
        bench.lose(f"90010000000{number:05d}", "Вы тут?")

    await bench.reconciler().reconcile()
    assert await bench.scripts.command("HKEYS", "ns:alerts") == ["system:webhooks_lost"]
    await rested(bench)
    await bench.reconciler().reconcile()

    assert "system:webhooks_lost:recovered" in await bench.scripts.command("HKEYS", "ns:alerts")


async def test_words_of_people_are_echoes(bench: ReadingBench) -> None:
    human = bench.meta.human(CUSTOMER, "Здравствуйте", at_ms=now_ms() - 2 * MINUTE)
    bench.meta.lose(human)

    assert await bench.reconciler().reconcile() == "nothing lost"

    assert await bench.counted("foreign_echo") == 1


async def test_it_is_off_unless_a_period_is_set(bench: ReadingBench) -> None:
    bench.minutes = 0

    assert await bench.reconciler().reconcile() == "off"


async def test_the_first_sight_of_an_account_stays(bench: ReadingBench) -> None:
    looks = Marks(bench.scripts)
    other = Account(channel=Channel.MESSENGER, id="104400000000002")

    assert await looks.first_seen_ms(other, now_ms=1000) == 1000
    assert await looks.first_seen_ms(other, now_ms=2000) == 1000
