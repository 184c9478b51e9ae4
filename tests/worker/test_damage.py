"""Whatever becomes of what is stored of a conversation: it ends, the books balance, and the next message is answered.

The damage is random, one field at a time, in a conversation that has a history, open messages and, in half of the
worlds, a reply that waits.
"""

import random
from typing import Any

import pytest

from bot.incoming.events import CustomerMessage, Echo, MessageKind
from runtime.clock import now_ms
from sandbox.meta.faults import Fault
from tests.worker.turning import TurnBench

pytestmark = pytest.mark.anyio
TRANSIENT = Fault("refuse", code=2, subcode=1545133, status=500)
MOST_TURNS = 40
VALUES = (
    b"", b"abc", b"-1", b"0", b"1", b"1e999", b"nan", b"inf", b"99999999999999999999", b"4000000000000", b"null", b"[]",
    b"{}", b'"', b"\xff\xfe", b"held", b"sent", b"planned", b"a b c", "😊".encode(), b"x" * 5000,
)  # fmt: skip


def damaged(value: bytes, chance: random.Random) -> bytes:
    how = chance.randrange(4)
    if how == 0 or not value:
        return chance.choice(VALUES)
    place = chance.randrange(len(value))
    if how == 1:
        return value[:place]
    if how == 2:
        return value[:place] + bytes([chance.randrange(256)]) + value[place + 1 :]
    return value[:place] + chance.choice(VALUES) + value[place:]


async def damage(turns: TurnBench, chance: random.Random) -> str:
    """What was done, for whoever reads the failure."""
    raw: Any = turns.scripts.client
    cid = turns.cid
    where = chance.choice(("", ":inbox", ":plan", ":history"))
    name = f"ns:c:{cid}{where}"
    if where in ("", ":plan"):
        flat = await turns.scripts.command("HGETALL", name)
        if not flat:
            return "nothing"
        field = chance.choice(sorted(flat))
        if chance.random() < 0.2:
            await raw.hdel(name, field)
            return f"{name} {field} is missing"
        value = damaged(flat[field].encode("utf-8", "surrogateescape"), chance)
        await raw.hset(name, field, value)
        return f"{name} {field} = {value!r}"
    lines = await turns.scripts.command("LRANGE", name, 0, -1)
    if not lines:
        return "nothing"
    index = chance.randrange(len(lines))
    if where == ":history" and chance.random() < 0.1:
        await raw.delete(name)
        return f"{name} is missing"
    value = damaged(lines[index].encode("utf-8", "surrogateescape"), chance)
    await raw.lset(name, index, value)
    return f"{name} {index} = {value!r}"


async def ends(turns: TurnBench) -> list[str]:
    """The words of the turns until nothing is open; at last the messaging window has closed."""
    words: list[str] = []
    for number in range(MOST_TURNS):
        if "open" not in await turns.books():
            return words
        if number >= MOST_TURNS - 10:
            await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "acted_at", now_ms() - 90_000_000)
        words.append(await turns.turn())
    return words


@pytest.mark.parametrize("seed", range(24))
async def test_a_damaged_conversation_ends_and_goes_on(turns: TurnBench, seed: int) -> None:
    chance = random.Random(seed)
    await turns.writes("a", "Добрый день, вы сегодня работаете?")
    assert (await turns.turn()).startswith("answered")
    await turns.writes("b", "Сколько стоит кружка?")
    await turns.writes("c", "И есть ли доставка?")
    if seed % 2:
        turns.meta.fault_for(turns.contact.customer_id, TRANSIENT)
        assert await turns.turn() == "waits: transient"
        turns.meta.clear_faults()

    what = await damage(turns, chance)
    for event in chance.sample(("message", "edit", "deletion", "echo", "vanishes", "none"), 2):
        match event:
            case "message":
                await turns.writes("d", "Ау?")
            case "edit":
                await turns.edits("b", "Сколько стоит чашка?")
            case "deletion":
                await turns.takes_back("c")
            case "echo":
                await turns.receive(Echo(turns.contact, "h", now_ms(), "Сейчас отвечу"))
            case "vanishes":
                await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "state", "leased", "lease_until", "1")
    words = await ends(turns)

    assert "open" not in await turns.books(), (what, words)
    assert await turns.faults() == [], (what, words)
    assert not await turns.plan(), (what, words)
    await turns.scripts.command("HDEL", f"ns:c:{turns.cid}", "takeover_until", "opted_out")
    before = await turns.books()
    await turns.writes("later", "А завтра работаете?")
    words += await ends(turns)
    after = await turns.books()
    assert "open" not in after, (what, words)
    assert after["answered"] > before["answered"] or after.get("handed_over", 0) > before.get("handed_over", 0), (
        what,
        words,
    )


async def test_what_takes_its_worker_down_ends(turns: TurnBench) -> None:
    """Ten times that is bad luck; then the conversation runs alone, and what vanishes is its own doing."""
    await turns.writes("a", "Сколько стоит кружка?")
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "state", "leased", "vanished", 11, "lease_until", 1)
    alone = await turns.turn(turns.another(agents={}))
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "state", "leased", "vanished", 12, "lease_until", 1)

    word = await turns.turn()

    assert alone == "failed: KeyError"
    assert word == "handed_over (turns_failed)"
    assert len(turns.read) == 1


async def test_what_takes_its_worker_down_in_every_way_ends_by_its_keys(turns: TurnBench) -> None:
    await turns.writes("a", "Сколько стоит кружка?")
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "state", "leased", "vanished", 18, "lease_until", 1)

    word = await turns.turn(turns.another(agents={}))

    assert word == "undeliverable"
    assert await turns.books() == {"received": 1, "undeliverable": 1}
    [alert] = await turns.alerts()
    assert (alert["rule"], alert["told"]) == ("turns_failed", False)
    await turns.writes("b", "А сегодня?")
    assert (await turns.turn()).startswith("answered")


async def test_a_conversation_that_is_given_up_still_knows_what_it_may_have_forgotten(turns: TurnBench) -> None:
    await turns.writes("a")
    forgotten_at, long_ago = turns.house.now_ms() - 120_000, turns.house.now_ms() - 180_000
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}", "forgotten_at", forgotten_at, "failures", 9)
    assert await turns.turn() == "undeliverable"

    await turns.receive(CustomerMessage(turns.contact, MessageKind.MESSAGE, "captured", long_ago, "Привет"))

    assert await turns.books() == {"received": 2, "undeliverable": 1, "silenced": 1}
