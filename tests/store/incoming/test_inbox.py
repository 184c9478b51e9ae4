"""What a customer writes, changes and takes back, while no turn runs."""

import pytest

from bot.conversation import HistoryLine
from bot.incoming.events import Deletion, Edit, Noted
from bot.outcome import Outcome, SilenceReason
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from tests.store.telling import arrives
from tests.store.turns.states import CONTACT, claim, message, planned, state, sums

pytestmark = pytest.mark.anyio


async def test_a_repeated_message_is_stored_once(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)

    await inbox.receive([message("a"), message("a")])
    await inbox.receive([message("a")])

    assert await sums(scripts) == {"received": 1, "open": 1}


async def test_a_deletion_carries_the_mid_of_its_message_and_is_no_duplicate(
    scripts: Scripts, settings: Settings
) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a"), message("b")])

    await inbox.receive([Deletion(CONTACT, "a", 1)])

    assert await sums(scripts) == {"received": 2, "silenced": 1, "open": 1}


async def test_taking_back_the_only_message_lets_the_conversation_rest(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a")])

    await inbox.receive([Deletion(CONTACT, "a", 1)])

    assert (await state(scripts))["state"] == "rest"
    assert (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids == ()


async def test_an_edit_changes_the_words_that_wait(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("a", text="синяя?", notes=("[photo]",), at_ms=1790000000501)])

    await inbox.receive([Edit(CONTACT, "a", 1, 'красная "или" \\ нет? 😊', 1)])

    _, conversation = await claim(scripts, settings)
    [waiting] = conversation.messages  # type: ignore[attr-defined]
    assert waiting.text == 'красная "или" \\ нет? 😊'
    assert waiting.notes == ("[photo]",)
    assert waiting.at_ms == 1790000000501


async def test_what_needs_no_answer_is_closed_as_it_comes(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message(closed_as=SilenceReason.STANDBY), Noted("read")])

    assert await sums(scripts) == {"received": 1, "silenced": 1}


async def test_a_flood_is_capped_and_recorded(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message() for _ in range(230)])

    assert await sums(scripts) == {"received": 230, "silenced": 30, "open": 200}


async def test_retention_begins_when_nothing_is_open_and_ends_with_the_next_word(
    scripts: Scripts, settings: Settings
) -> None:
    inbox = Inbox(scripts, settings)
    keys = [f"ns:c:{CONTACT.conversation_id}{part}" for part in ("", ":seen", ":history")]
    lease, _ = await planned(scripts, settings)
    open_ttls = [await scripts.command("PTTL", key) for key in keys[:2]]
    plan = (await lease.reread()).plan
    assert plan is not None
    await arrives(scripts, settings, lease, plan)
    await lease.finish(Outcome.ANSWERED, plan.keys, lines=[HistoryLine("bot", "Ответ", 1)])
    closed_ttls = [await scripts.command("PTTL", key) for key in keys]
    await inbox.receive([message()])
    reopened_ttls = [await scripts.command("PTTL", key) for key in keys]

    assert open_ttls == [-1, -1]
    assert all(ttl > 100 * 86_400_000 for ttl in closed_ttls)
    assert reopened_ttls == [-1, -1, -1]
