"""Accounts that must not send: Meta's blocks and warnings, and how long a rest lasts."""

import pytest

from bot.incoming.events import Channel, PolicyEnforcement
from runtime.clock import now_ms
from runtime.settings import Settings
from store.accounts.pacing import Pacing
from store.accounts.parking import Parked, Parking
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from tests.store.turns.waiting import ACCOUNT, CONTACT, claim, message

pytestmark = pytest.mark.anyio


# Accounts that must not send.
async def why_parked(scripts: Scripts) -> str:
    place = await Pacing(scripts).take(ACCOUNT, "send", patience_seconds=0)
    return place.reason if isinstance(place, Parked) else ""


def policy(action: str, at_ms: int = 1) -> PolicyEnforcement:
    return PolicyEnforcement(Channel.INSTAGRAM, ACCOUNT.id, action, at_ms, "Too many")


async def test_a_block_parks_the_account_until_it_is_lifted(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([policy("block"), message("m1", now_ms())])
    assert await why_parked(scripts) == "policy_block"
    lease, _ = await claim(scripts, settings)
    await lease.hold(3600, "parked")

    await inbox.receive([policy("unblock", 2)])

    assert await why_parked(scripts) == ""
    assert (await Schedule(scripts).pop_due(limit=1, quota=1)).conversation_ids == (CONTACT.conversation_id,)
    assert await scripts.command("HKEYS", "ns:alerts") == [f"account:instagram:{ACCOUNT.id}:policy_block"]


async def test_a_block_that_comes_again_late_does_not_block_again(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([policy("block"), policy("unblock", 2), policy("block")])

    assert await why_parked(scripts) == ""


async def test_an_unblock_does_not_mend_a_token(scripts: Scripts, settings: Settings) -> None:
    await Parking(scripts).park(ACCOUNT, "token", 60)

    await Inbox(scripts, settings).receive([policy("unblock")])

    assert await why_parked(scripts) == "token"


async def test_a_warning_is_told_and_parks_nothing(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([policy("warning")])

    assert await why_parked(scripts) == ""
    assert await scripts.command("HKEYS", "ns:alerts") == [f"account:instagram:{ACCOUNT.id}:policy_warning"]


async def test_a_gentle_rest_does_not_shorten_another(scripts: Scripts) -> None:
    parking = Parking(scripts)
    await parking.park(ACCOUNT, "token", 60)

    await parking.park(ACCOUNT, "usage", 1, unless_parked=True)

    assert await why_parked(scripts) == "token"
