"""The server's clock goes back: whatever waits is still served."""

import pytest

from bot.alerts.alert import Alert
from bot.conversation import PlanMeta
from bot.incoming.events import Comment, Contact, Noted, UnreadMessage
from bot.outcome import Deferral
from runtime.embedded import EmbeddedValkey
from runtime.settings import Settings
from store.accounts.pacing import Pacing, Slot
from store.accounts.parking import Parking
from store.keys import parking_key
from store.outboxes.alerts import AlertOutbox, WaitingAlert
from store.outboxes.comments import CommentOutbox
from store.outboxes.unread_messages import UnreadMessages
from store.turns.decisions import MaySend
from store.turns.lease import LEASE_SECONDS
from tests.store.clock.moved import ACCOUNT, CID, CONTACT, HOUR, House
from tests.store.telling import answered

pytestmark = pytest.mark.anyio


async def test_a_burst_is_not_kept_waiting(house: House) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert await house.claimable_after(15)


async def test_what_was_handed_out_and_lost_is_handed_out_again(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    assert (await house.dispatch()).conversation_ids == (CID,)
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    await house.scripts.pass_time(16)
    assert (await house.dispatch()).conversation_ids == (CID,)


async def test_the_lease_of_a_dead_worker_ends(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    await house.claimed()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert not await house.claimable_after(LEASE_SECONDS - 2)
    assert await house.claimable_after(3)


async def test_a_live_worker_keeps_its_lease(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, conversation = await house.claimed()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert await lease.renew()
    await answered(house.scripts, house.settings, lease, conversation)


@pytest.mark.parametrize("reason", [Deferral.BACKOFF, Deferral.SETTLING, Deferral.HUMANS_FIRST, "parked"])
async def test_what_is_held_is_looked_at(house: House, reason: str) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, _ = await house.claimed()
    await lease.hold(60, reason)
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert await house.claimable_after(1)


async def test_a_takeover_lasts_no_longer_than_one_taken_now(house: House) -> None:
    await house.writes()
    await house.human_writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    _, conversation = await house.claimed()
    assert 0 < conversation.takeover_until_ms - conversation.now_ms <= 600_000


async def test_a_takeover_of_a_conversation_at_rest_is_cut_when_the_customer_writes(house: House) -> None:
    await house.human_writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.writes()

    assert not await house.claimable_after(590)
    assert await house.claimable_after(15)


async def test_messages_that_are_open_for_too_long_are_seen(house: House) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(house.overdue_seconds + 1)

    assert (await house.health.look()).overdue == 1


async def test_a_message_is_not_younger_than_now(house: House) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(16)

    _, conversation = await house.claimed()
    assert conversation.oldest_received_ms <= conversation.now_ms


async def test_the_doubt_about_a_send_is_settled_in_time(house: House) -> None:
    await house.writes()
    await house.scripts.pass_time(5)
    lease, conversation = await house.claimed()
    planned = (await lease.plan(conversation, ["Ответ"], PlanMeta())).conversation
    assert planned.plan is not None
    assert await lease.begin_part(planned.plan.id, 0, margin_seconds=1) == MaySend()
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(LEASE_SECONDS + 1)

    _, again = await house.claimed()
    assert again.plan is not None
    assert again.now_ms - again.plan.parts[0].sending_at_ms >= LEASE_SECONDS * 1000


async def test_the_line_of_an_account_begins_anew(house: House) -> None:
    pacing = Pacing(house.scripts)
    await pacing.take(ACCOUNT, "read", patience_seconds=1)
    await house.scripts.jump(-HOUR)

    assert isinstance(await pacing.take(ACCOUNT, "read", patience_seconds=1), Slot)


async def test_outboxes_are_emptied(house: House) -> None:
    comments, unread, alerts = CommentOutbox(house.scripts), UnreadMessages(house.scripts), AlertOutbox(house.scripts)
    await comments.note(Comment(CONTACT.channel, ACCOUNT.id, "17900000000000001", "900", 1, "цена?"))
    bare = UnreadMessage(CONTACT.channel, ACCOUNT.id, "mid-u", 1, CONTACT.customer_id)
    await house.inbox.receive([Noted("ghost_edit", ACCOUNT.id, unread=bare)])
    await alerts.raise_alert("an-alert", Alert("x"))
    await alerts.failed(WaitingAlert("an-alert", Alert("x"), tries=2), again_in_seconds=300)
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(61)

    now_ms = await house.scripts.ask_time()
    due = await house.schedule.pop_due(limit=10, quota=10)
    assert len(await comments.due(now_ms=now_ms, limit=10)) == 1
    assert len(await unread.take(10)) == 1
    assert "an-alert" in due.alert_ids


async def test_the_dead_do_not_seem_alive(house: House) -> None:
    await house.health.beat("worker", "dead:1")
    await house.scripts.jump(-HOUR)
    await house.health.beat("dispatcher", "live:2")
    await house.scripts.pass_time(31)

    assert (await house.health.look()).count("worker") == 0


async def test_an_account_that_rests_may_try_again(house: House) -> None:
    await Parking(house.scripts).park(ACCOUNT, "throttled", 3600)  # its time to live has grown by an hour
    await house.scripts.jump(-HOUR)
    await house.dispatch()

    assert 0 < int(await house.scripts.command("TTL", parking_key(ACCOUNT))) <= 60


async def test_it_is_told_once_however_many_see_it(house: House, settings: Settings) -> None:
    others = [House(house.scripts, settings) for _ in range(2)]
    for each in others:
        await each.dispatch()
    await house.scripts.jump(-HOUR)
    for each in (house, *others):
        await each.dispatch()
        await each.dispatch()

    waiting = await AlertOutbox(house.scripts).load("system:clock_went_back")
    assert (await house.events())["clock_went_back"] == "1"
    assert waiting is not None
    assert waiting.alert.count == 1
    assert 3590 <= int(waiting.alert.detail) <= 3610


async def test_a_dispatcher_that_comes_later_finds_out_from_the_ledger(house: House, settings: Settings) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    late = House(house.scripts, settings)
    await late.dispatch()

    assert await late.claimable_after(15)
    assert (await late.events())["clock_went_back"] == "1"


async def test_what_could_not_be_mended_is_mended_later(house: House, valkey: EmbeddedValkey) -> None:
    await house.writes()
    await house.scripts.jump(-HOUR)
    due = await house.schedule.pop_due(limit=10, quota=10)
    house.watch.saw(due.told)
    valkey.kill()
    with pytest.raises(Exception, match="Connection"):
        await house.watch.mend()
    valkey.restart()

    await house.watch.mend()
    assert await house.claimable_after(15)


async def test_thousands_are_pulled_back(house: House) -> None:
    number = 1200
    for n in range(number):
        await house.writes(f"m{n}", Contact(ACCOUNT.channel, ACCOUNT.id, f"9001{n:012d}"))
    await house.scripts.jump(-HOUR)
    await house.dispatch()
    await house.scripts.pass_time(15)

    due = await house.schedule.pop_due(limit=2000, quota=2000)
    assert len(due.conversation_ids) == number
