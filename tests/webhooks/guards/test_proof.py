"""Strangers have a bounded part of the receiver; what Meta has signed is never refused for what they do."""

import asyncio
import hashlib
import hmac
import json

import pytest

from webhooks.guards.budget import Budget
from webhooks.guards.proof import NotSigned, Proof, TooMuchUnsigned

pytestmark = pytest.mark.anyio

SECRET = b"invented-app-secret-01"
SENT = json.dumps({"text": "Привет 🚀"}).encode()
DECODED = json.dumps({"text": "Привет 🚀"}, ensure_ascii=False).encode()
STRANGERS = bytes(32)


def signature(body: bytes) -> bytes:
    return hmac.new(SECRET, body, hashlib.sha256).digest()


def with_nothing_left() -> Budget:
    budget = Budget(clock=lambda: 0.0)
    budget.spend(1.0)
    return budget


async def test_what_meta_has_sent_needs_no_budget() -> None:
    large = SENT + b" " * 300_000
    proof = Proof([SECRET], with_nothing_left())

    assert proof.is_plain(SENT, signature(SENT))
    assert not proof.is_plain(SENT, STRANGERS)
    assert await proof.check(large, signature(large))


async def test_a_body_that_a_proxy_decoded_is_told_apart_and_costs_the_budget_nothing() -> None:
    budget = Budget(most_seconds=1e-9, clock=lambda: 0.0)
    proof = Proof([b"another", SECRET], budget)

    assert [await proof.check(DECODED, signature(SENT)) for _ in range(3)] == [False, False, False]
    assert budget.spent_seconds == 0


async def test_a_closer_look_at_a_stranger_is_drawn_from_the_budget() -> None:
    budget = Budget(most_seconds=1e-9, clock=lambda: 0.0)
    proof = Proof([SECRET], budget)

    with pytest.raises(NotSigned):
        await proof.check(DECODED, STRANGERS)
    with pytest.raises(TooMuchUnsigned):
        await proof.check(DECODED, STRANGERS)
    with pytest.raises(TooMuchUnsigned):  # it has to come again
        await proof.check(DECODED, signature(SENT))
    assert budget.spent_seconds > 0


async def test_strangers_that_come_together_are_not_all_looked_at() -> None:
    proof = Proof([SECRET], Budget(most_seconds=1e-9, clock=lambda: 0.0))

    answers = await asyncio.gather(*(proof.check(DECODED, STRANGERS) for _ in range(20)), return_exceptions=True)

    assert [type(answer) for answer in answers].count(NotSigned) == 1
    assert [type(answer) for answer in answers].count(TooMuchUnsigned) == 19


@pytest.mark.parametrize("body", [b"{}", b"x" * 300_000, b"\xff" * 100, "я".encode() * 1_100_000])
async def test_what_cannot_be_a_decoded_body_is_not_looked_at_twice(body: bytes) -> None:
    proof = Proof([SECRET], Budget(clock=lambda: 0.0))

    with pytest.raises(NotSigned):
        await proof.check(body, STRANGERS)


async def test_hashing_a_large_body_of_a_stranger_counts_too() -> None:
    budget = Budget(clock=lambda: 0.0)

    with pytest.raises(NotSigned):
        await Proof([SECRET], budget).check(b"x" * 8_000_000, STRANGERS)

    assert budget.spent_seconds > 0


@pytest.mark.parametrize("body", ["яa".encode() * 600_000, b"x" * 64_000_000], ids=["decoded", "large"])
async def test_others_go_on_while_a_large_body_is_looked_at(body: bytes) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.0005)
            turns += 1

    watching = asyncio.create_task(others())
    try:
        with pytest.raises(NotSigned):
            await Proof([SECRET], Budget()).check(body, STRANGERS)
    finally:
        watching.cancel()

    assert turns > 0  # none, if the loop were held up
