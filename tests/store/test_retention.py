"""What is kept of a customer goes after its time, and never while anything is open."""

import pytest

from bot.conversation import PartState
from bot.incoming.events import Channel, Contact, CustomerMessage, Echo, MessageKind
from bot.outcome import SilenceReason
from runtime.clock import now_ms
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from tests.store.telling import answered

pytestmark = pytest.mark.anyio

CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
FOR_GOOD = -1


def message(mid: str, *, closed_as: SilenceReason | None = None) -> CustomerMessage:
    return CustomerMessage(CONTACT, MessageKind.MESSAGE, mid, now_ms(), "?", closed_as=closed_as)


async def keys_left(scripts: Scripts) -> dict[str, int]:
    names = await scripts.command("KEYS", f"ns:c:{CONTACT.conversation_id}*")
    return {str(name): int(await scripts.command("PTTL", name)) for name in names}


@pytest.mark.parametrize("closed_as", [SilenceReason.STANDBY, SilenceReason.TEST_EVENT])
async def test_words_that_need_no_answer_are_not_kept_for_good(
    scripts: Scripts, settings: Settings, closed_as: SilenceReason
) -> None:
    await Inbox(scripts, settings).receive([message("m1", closed_as=closed_as)])

    left = await keys_left(scripts)
    assert left
    assert FOR_GOOD not in left.values()


async def test_a_humans_words_alone_are_not_kept_for_good(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([Echo(CONTACT, "e1", now_ms(), "Hello from the shop")])

    left = await keys_left(scripts)
    assert f"ns:c:{CONTACT.conversation_id}:history" in left
    assert FOR_GOOD not in left.values()


async def test_what_is_open_is_kept_and_what_is_closed_goes_in_time(scripts: Scripts, settings: Settings) -> None:
    inbox = Inbox(scripts, settings)
    await inbox.receive([message("m1", closed_as=SilenceReason.STANDBY)])
    await inbox.receive([message("m2")])
    opened = await keys_left(scripts)
    await Schedule(scripts).pop_due(limit=10, quota=10)
    claimed = await Conversations(scripts, settings).claim(CONTACT.conversation_id)
    assert isinstance(claimed, Claimed)
    lease, conversation = claimed.lease, claimed.conversation
    await answered(scripts, settings, lease, conversation)
    closed = await keys_left(scripts)

    assert set(opened.values()) == {FOR_GOOD}
    assert FOR_GOOD not in closed.values()


async def test_a_message_id_learned_after_the_end_is_not_kept_for_good(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", closed_as=SilenceReason.STANDBY)])

    await Conversations(scripts, settings).record(CONTACT.conversation_id, "gone", 0, PartState.SENT, mid="late")

    left = await keys_left(scripts)
    assert f"ns:c:{CONTACT.conversation_id}:sent" in left
    assert FOR_GOOD not in left.values()
