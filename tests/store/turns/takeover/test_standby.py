"""Threads that another app has: what is heard on standby."""

import pytest

from bot.incoming.events import (
    Channel,
    Contact,
    CustomerMessage,
    Deletion,
    MessageKind,
    ThreadControl,
)
from bot.outcome import SilenceReason
from runtime.clock import now_ms
from tests.store.telling import answered
from tests.store.turns.takeover.bench import CONTACT, INSTAGRAM, Bench, message

pytestmark = pytest.mark.anyio


# Another app gets all new threads.
def stranger(
    number: int, *, closed_as: SilenceReason | None = SilenceReason.STANDBY, **more: object
) -> CustomerMessage:
    contact = Contact(Channel.INSTAGRAM, INSTAGRAM, f"900100000000{number:04d}")
    mid = str(more.pop("mid", f"s{number}"))
    return CustomerMessage(contact, MessageKind.MESSAGE, mid, now_ms(), "?", closed_as=closed_as)


async def standby_alerts(bench: Bench) -> list[str]:
    return [name for name in await bench.scripts.command("HKEYS", "ns:alerts") if name.endswith(":standby")]


async def test_customers_heard_only_on_standby_are_told_of_once(bench: Bench) -> None:
    for number in range(12):
        await bench.receive(stranger(number), stranger(number, mid=f"again{number}"))

    assert await standby_alerts(bench) == [f"account:instagram:{INSTAGRAM}:standby"]
    assert await bench.scripts.command("HGET", "ns:events", "alert") == "1"
    assert await bench.sums() == {"received": 24, "silenced": 24}


async def test_one_customer_on_standby_is_no_reason(bench: Bench) -> None:
    for number in range(20):
        await bench.receive(stranger(1, mid=f"again{number}"))

    assert await standby_alerts(bench) == []


async def test_standby_beside_customers_who_write_directly_is_no_reason(bench: Bench) -> None:
    for number in range(0, 20, 2):
        await bench.receive(stranger(number), stranger(number + 1, closed_as=None))

    assert await standby_alerts(bench) == []


async def test_threads_that_people_have_taken_are_no_reason(bench: Bench) -> None:
    for number in range(12):
        contact = stranger(number).contact
        await bench.receive(ThreadControl(contact, "take", now_ms(), "999"), stranger(number))

    assert await standby_alerts(bench) == []


async def test_who_changes_between_the_two_is_not_told_each_time(bench: Bench) -> None:
    for number in range(0, 40, 4):
        await bench.receive(*(stranger(number + n) for n in range(3)), stranger(number + 3, closed_as=None))

    assert await bench.scripts.command("HGET", "ns:events", "standby_alone") == "10"
    assert await bench.scripts.command("HGET", "ns:events", "alert") == "1"


@pytest.mark.parametrize("reopens", [True, False])
async def test_a_standby_copy_does_not_swallow_the_message_itself(bench: Bench, reopens: bool) -> None:
    copy, normal = message("m1", closed_as=SilenceReason.STANDBY), message("m1")
    first, second = (copy, normal) if reopens else (normal, copy)

    await bench.receive(first)
    await bench.receive(second)
    await bench.receive(copy, normal)

    assert await bench.sums() == {"received": 1, "open": 1}
    lease, conversation = await bench.claim()
    await answered(bench.scripts, bench.settings, lease, conversation)
    assert await bench.sums() == {"received": 1, "answered": 1}


async def test_a_standby_copy_alone_ends_as_standby_once(bench: Bench) -> None:
    copy = message("m1", closed_as=SilenceReason.STANDBY)

    await bench.receive(copy, copy)

    assert await bench.sums() == {"received": 1, "silenced": 1}


async def test_a_deletion_that_overtakes_its_message_silences_it(bench: Bench) -> None:
    await bench.receive(Deletion(CONTACT, "m1", now_ms()), message("m1"))

    assert await bench.sums() == {"received": 1, "silenced": 1}
    assert await bench.silences() == ["deleted"]
