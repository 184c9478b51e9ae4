"""The messaging window: who waits is looked at before it closes, and managers are told once for each window."""

import pytest

from bot.alerts.alert import Alert
from bot.incoming.events import CustomerAction, Echo
from bot.messaging_window import MARGIN_MS, WARNING_MS, WINDOW_MS
from bot.outcome import Deferral, SilenceReason
from runtime.clock import now_ms
from runtime.settings import Settings
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.lease import Incident
from tests.store.turns.waiting import CONTACT, claim, message, server_us

pytestmark = pytest.mark.anyio


DAY_AND_MORE_SECONDS = 100_000.0


def told(acted_at_ms: int) -> Incident:
    return Incident("told", Alert("window_closing", acted_at=acted_at_ms))


async def due_at(scripts: Scripts) -> int:
    return int(float(await scripts.command("ZSCORE", "ns:due", CONTACT.conversation_id)))


@pytest.mark.parametrize("reason", [Deferral.HUMAN, Deferral.HUMANS_FIRST, Deferral.OFF_DUTY, "parked"])
async def test_who_waits_is_looked_at_before_the_window_closes_and_at_its_end(
    scripts: Scripts, settings: Settings, reason: str
) -> None:
    at_ms = now_ms() - 3_600_000
    await Inbox(scripts, settings).receive([message("m1", at_ms)])
    lease, _ = await claim(scripts, settings)

    await lease.hold(DAY_AND_MORE_SECONDS, reason)
    first = await due_at(scripts)
    await scripts.command("ZADD", "ns:due", 0, CONTACT.conversation_id)
    lease, _ = await claim(scripts, settings)
    await lease.hold(DAY_AND_MORE_SECONDS, reason, window_closing=told(at_ms))
    second = await due_at(scripts)

    assert first == at_ms + WINDOW_MS - MARGIN_MS - WARNING_MS
    assert second == at_ms + WINDOW_MS - MARGIN_MS
    assert await scripts.command("HKEYS", "ns:alerts") == ["told"]


async def test_a_new_message_opens_a_new_window_of_which_managers_may_be_told_again(
    scripts: Scripts, settings: Settings
) -> None:
    inbox, first_at, second_at = Inbox(scripts, settings), now_ms() - 7_200_000, now_ms() - 3_600_000
    await inbox.receive([message("m1", first_at)])
    lease, _ = await claim(scripts, settings)
    await lease.hold(0, Deferral.HUMAN, window_closing=told(first_at))
    await inbox.receive([message("m2", second_at)])

    lease, conversation = await claim(scripts, settings)
    await lease.hold(DAY_AND_MORE_SECONDS, Deferral.HUMAN)

    assert conversation.window_told_ms == first_at
    assert await due_at(scripts) == second_at + WINDOW_MS - MARGIN_MS - WARNING_MS


async def test_a_warning_of_the_old_window_is_not_taken_for_one_of_the_new(
    scripts: Scripts, settings: Settings
) -> None:
    inbox, first_at, second_at = Inbox(scripts, settings), now_ms() - 7_200_000, now_ms() - 3_600_000
    await inbox.receive([message("m1", first_at)])
    lease, _ = await claim(scripts, settings)
    await inbox.receive([message("m2", second_at)])

    await lease.hold(DAY_AND_MORE_SECONDS, Deferral.HUMAN, window_closing=told(first_at))

    assert await due_at(scripts) == second_at + WINDOW_MS - MARGIN_MS - WARNING_MS


async def test_a_short_wait_is_not_touched(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", now_ms())])
    lease, _ = await claim(scripts, settings)

    before = await server_us(scripts)
    await lease.hold(60, Deferral.HUMAN)
    after = await server_us(scripts)

    minute_ms = 60_000
    assert before // 1000 + minute_ms <= await due_at(scripts) <= after // 1000 + minute_ms


async def test_a_takeover_of_a_closed_window_is_due_at_once(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([message("m1", now_ms() - 2 * WINDOW_MS), Echo(CONTACT, "h1", now_ms())])

    assert (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids == (CONTACT.conversation_id,)


@pytest.mark.parametrize("kind", ["reaction", "referral"])
async def test_a_reaction_or_a_link_opens_the_window_and_an_older_one_does_not_shut_it(
    scripts: Scripts, settings: Settings, kind: str
) -> None:
    inbox, at_ms = Inbox(scripts, settings), now_ms() - 1000
    await inbox.receive([message("m1", at_ms - WINDOW_MS)])

    await inbox.receive([CustomerAction(CONTACT, kind, at_ms), CustomerAction(CONTACT, kind, at_ms - 5000)])

    _, conversation = await claim(scripts, settings)
    assert conversation.last_action_at_ms == at_ms


async def test_an_action_of_somebody_who_never_wrote_is_only_counted(scripts: Scripts, settings: Settings) -> None:
    await Inbox(scripts, settings).receive([CustomerAction(CONTACT, "referral", now_ms())])

    assert await scripts.command("EXISTS", f"ns:c:{CONTACT.conversation_id}") == 0
    assert await scripts.command("HGET", "ns:events", "referral") == "1"


async def test_a_test_from_the_dashboard_opens_no_window(scripts: Scripts, settings: Settings) -> None:
    at_ms = now_ms() - 5000
    await Inbox(scripts, settings).receive(
        [message("m1", at_ms), message("m2", at_ms + 4000, closed_as=SilenceReason.TEST_EVENT)]
    )

    _, conversation = await claim(scripts, settings)
    assert conversation.acted_at_ms == at_ms
