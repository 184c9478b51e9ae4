"""The rounds in which writes are confirmed: who shares them, who passes by, whose fault is whose."""

import asyncio

import pytest

from store.connection import NotConfirmed, Store, StoreBroken
from store.scripts import Scripts
from tests.replicated import Replicated, client_of

pytestmark = pytest.mark.anyio


def waits_of(servers: Replicated) -> int:
    """How often the primary was asked to WAIT."""
    with client_of(servers.primary) as primary:
        return int(primary.info("commandstats")["cmdstat_wait"]["calls"])


async def test_however_many_wait_they_share_the_rounds(servers: Replicated, store: Store, confirmed: Scripts) -> None:
    await confirmed.run_confirmed("beat", "worker", "a", 1000)
    servers.link.stall()
    before = waits_of(servers)

    answers = await asyncio.gather(
        *(confirmed.run_confirmed("beat", "worker", str(n), 1000) for n in range(200)), return_exceptions=True
    )

    assert {type(answer) for answer in answers} == {NotConfirmed}
    assert waits_of(servers) - before < 20  # and not two hundred


async def test_what_does_not_wait_passes_by(servers: Replicated, confirmed: Scripts) -> None:
    """Renewing a lease never stands behind a replica that does not answer."""
    servers.link.stall()
    waiting = asyncio.create_task(confirmed.run_confirmed("beat", "worker", "a", 1000))
    await asyncio.sleep(0)

    await confirmed.run("beat", "worker", "b", 1000)

    assert not waiting.done()
    with pytest.raises(NotConfirmed):
        await waiting


async def test_a_fault_in_one_call_is_its_callers_alone(confirmed: Scripts) -> None:
    answers = await asyncio.gather(
        confirmed.command_confirmed("SET", "key", "a"),
        confirmed.command_confirmed("LPUSH", "key", "b"),
        confirmed.run_confirmed("raise_alert", "", "id", "{}"),
        return_exceptions=True,
    )

    assert isinstance(answers[1], StoreBroken)
    assert [answers[0], answers[2]] == ["OK", 1]


async def test_words_that_cannot_be_packed_are_their_callers_alone(confirmed: Scripts) -> None:
    async with asyncio.timeout(30):
        answers = await asyncio.gather(
            confirmed.command_confirmed("SET", "key", "a"),
            confirmed.command_confirmed("SET", "key", "\udc80"),
            confirmed.run_confirmed("raise_alert", "", "id", "{}"),
            return_exceptions=True,
        )

    assert isinstance(answers[1], UnicodeEncodeError)
    assert [answers[0], answers[2]] == ["OK", 1]


async def test_a_caller_that_is_cancelled_leaves_the_others_their_answers(confirmed: Scripts) -> None:
    asking = [asyncio.create_task(confirmed.command_confirmed("SET", f"key:{n}", n)) for n in range(30)]
    await asyncio.sleep(0)
    for task in asking[::3]:
        task.cancel()

    answers = await asyncio.gather(*asking, return_exceptions=True)

    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::3])
    assert [answer for n, answer in enumerate(answers) if n % 3] == ["OK"] * 20
