"""Whatever happens to the connection that all share: everybody gets their own answer, or an error in time."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import uvloop

from runtime.embedded import EmbeddedValkey
from sandbox.patience import PATIENCE_SECONDS
from store.connection import Store, StoreBroken, StoreUnavailable, connect
from store.scripts import Scripts

TIMEOUT_SECONDS = 2.0


@pytest.fixture
def own_valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def store(own_valkey: EmbeddedValkey) -> AsyncIterator[Store]:
    client = connect(own_valkey.url, max_connections=2, timeout_seconds=TIMEOUT_SECONDS)
    yield client
    await client.aclose()


async def connections(scripts: Scripts, name: str = "nightshift") -> int:
    return str(await scripts.command("CLIENT", "LIST")).count(f"name={name} ")


@pytest.mark.anyio
async def test_everybody_gets_their_own_answer(scripts: Scripts) -> None:
    answers = await asyncio.gather(*(scripts.command("ECHO", f"№ {i} 🌙") for i in range(500)))

    assert answers == [f"№ {i} 🌙" for i in range(500)]
    assert await connections(scripts) == 2  # with the pool's own


@pytest.mark.anyio
async def test_an_error_is_its_callers_alone(scripts: Scripts) -> None:
    answers: list[object] = await asyncio.gather(
        scripts.command("ECHO", "a"), scripts.command("LPUSH"), scripts.command("ECHO", "b"), return_exceptions=True
    )

    assert answers[::2] == ["a", "b"]
    assert isinstance(answers[1], StoreBroken)


@pytest.mark.anyio
async def test_a_caller_who_is_cancelled_leaves_the_others_their_answers(scripts: Scripts) -> None:
    asking = [asyncio.create_task(scripts.command("ECHO", i)) for i in range(60)]
    await asyncio.sleep(0)
    for task in asking[::3]:
        task.cancel()

    answers = await asyncio.gather(*asking, return_exceptions=True)

    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::3])
    assert answers[1::3] == [str(i) for i in range(1, 60, 3)]
    assert await scripts.command("ECHO", "goes on") == "goes on"


@pytest.mark.anyio
async def test_a_frozen_server_costs_everybody_one_timeout(own_valkey: EmbeddedValkey, store: Store) -> None:
    scripts = Scripts(store)
    await scripts.command("PING")
    answers: list[object] = []

    async def seconds_of(callers: int) -> float:
        began = time.monotonic()
        asking = (scripts.command("ECHO", i) for i in range(callers))
        answers.extend(await asyncio.gather(*asking, return_exceptions=True))
        return time.monotonic() - began

    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        connected = await seconds_of(20)
        alone, together = await seconds_of(1), await seconds_of(20)  # nobody is connected any more
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)

    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert connected <= 3 * alone
    assert together <= 3 * alone  # they share one try to connect
    assert await scripts.command("ECHO", "thawed") == "thawed"


def test_an_answer_that_waits_for_a_busy_loop_is_not_taken_for_none(valkey: EmbeddedValkey) -> None:
    async def ask() -> object:
        client = connect(valkey.url, max_connections=2, timeout_seconds=1)
        await Scripts(client).command("PING")
        asking = asyncio.create_task(Scripts(client).command("ECHO", "here"))
        await asyncio.sleep(0)
        time.sleep(2)  # noqa: ASYNC251 - the loop does nothing else meanwhile
        try:
            return await asking
        finally:
            await client.aclose()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # its timers come before what it reads
        assert runner.run(ask()) == "here"


@pytest.mark.anyio
async def test_a_server_that_died_is_found_again(own_valkey: EmbeddedValkey, store: Store) -> None:
    scripts = Scripts(store)
    await scripts.run("sums", 0)
    own_valkey.kill()
    lost = await asyncio.gather(*(scripts.run("sums", 0) for _ in range(5)), return_exceptions=True)
    away = await asyncio.gather(*(scripts.run("sums", 0) for _ in range(5)), return_exceptions=True)
    own_valkey.restart()

    assert {type(answer) for answer in [*lost, *away]} == {StoreUnavailable}
    assert await scripts.run("sums", 0)  # and it is taught its scripts again


@pytest.mark.anyio
async def test_a_server_that_is_no_primary_any_more_is_asked_no_second_time(store: Store) -> None:
    scripts = Scripts(store)
    name = await scripts.command("CLIENT", "ID")
    await scripts.command("REPLICAOF", "127.0.0.1", 1)

    with pytest.raises(StoreUnavailable, match="READONLY"):
        await scripts.command("SET", "key", "value")

    assert await scripts.command("CLIENT", "ID") != name


@pytest.mark.anyio
async def test_the_connection_is_made_as_the_address_says(own_valkey: EmbeddedValkey, store: Store) -> None:
    with_password = connect(
        own_valkey.url.removesuffix("/0") + "/3",
        max_connections=1,
        timeout_seconds=TIMEOUT_SECONDS,
        client_name="nightshift-somebody",
    )
    address = f"redis://127.0.0.1:{own_valkey.port}/0"
    without = connect(address, max_connections=1, timeout_seconds=TIMEOUT_SECONDS)

    described = await Scripts(with_password).command("CLIENT", "INFO")
    with pytest.raises(StoreUnavailable):
        await Scripts(without).command("PING")

    assert "name=nightshift-somebody" in described
    assert "db=3" in described
    await with_password.aclose()
    await without.aclose()


@pytest.mark.anyio
async def test_closing_while_it_connects_is_an_outage_to_who_waits(own_valkey: EmbeddedValkey, store: Store) -> None:
    os.kill(own_valkey.pid, signal.SIGSTOP)  # it is connected to, and never greets
    try:
        asking = [asyncio.create_task(Scripts(store).command("PING")) for _ in range(3)]
        await asyncio.sleep(0.01)
        await store.aclose()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        later = await asyncio.gather(Scripts(store).command("PING"), return_exceptions=True)
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)

    assert {type(answer) for answer in [*answers, *later]} == {StoreUnavailable}


@pytest.mark.anyio
async def test_closing_ends_what_is_still_waited_for(own_valkey: EmbeddedValkey) -> None:
    store = connect(own_valkey.url, max_connections=2, timeout_seconds=2 * PATIENCE_SECONDS)
    scripts = Scripts(store)
    await scripts.command("PING")
    os.kill(own_valkey.pid, signal.SIGSTOP)
    asking = asyncio.create_task(scripts.command("PING"))
    await asyncio.sleep(0)

    await store.aclose()

    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(asking, PATIENCE_SECONDS)
    os.kill(own_valkey.pid, signal.SIGCONT)
