"""An account's rest belongs to the token that was refused: who comes with another one sends, and at once."""

import pytest
from pydantic import SecretStr

from bot.conversation import PlanMeta
from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from runtime.clock import now_ms
from runtime.settings import Account, Settings
from store.accounts.pacing import Pacing, rate_limit_of
from store.accounts.parking import Parked, Parking, token_mark
from store.incoming.inbox import Inbox
from store.keys import parking_key
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import MaySend

pytestmark = pytest.mark.anyio

CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
CID = CONTACT.conversation_id


def with_token(token: str) -> Account:
    return Account(channel="instagram", id=CONTACT.account_id, token=SecretStr(token))


OLD, NEW = with_token("old-invented-token"), with_token("new-invented-token")


class Worker:
    """A process of its own with its own idea of the account's token."""

    def __init__(self, scripts: Scripts, settings: Settings, account: Account) -> None:
        config = settings.config.model_copy(update={"accounts": (account,)})
        self.account = account
        self.settings = settings.model_copy(update={"config": config})
        self.parking = Parking(scripts)
        self.pacing = Pacing(scripts)
        self.conversations = Conversations(scripts, self.settings)
        self.schedule = Schedule(scripts)
        self.inbox = Inbox(scripts, self.settings)

    async def is_parked(self) -> str:
        place = await self.pacing.take(self.account, "send", patience_seconds=0)
        return place.reason if isinstance(place, Parked) else ""

    async def due(self) -> tuple[str, ...]:
        return (await self.schedule.pop_due(limit=10, quota=10)).conversation_ids

    async def hold_parked(self) -> None:
        """Take the conversation's turn, find the account parked, and wait for that."""
        assert await self.due() == (CID,)
        claimed = await self.conversations.claim(CID)
        assert isinstance(claimed, Claimed)
        lease, conversation = claimed.lease, claimed.conversation
        assert conversation.parked == "token"
        await lease.hold(300, "parked")


@pytest.fixture
def workers(scripts: Scripts, settings: Settings) -> tuple[Worker, Worker]:
    return Worker(scripts, settings, OLD), Worker(scripts, settings, NEW)


@pytest.mark.parametrize("reason", ["token", "permission"])
async def test_what_is_the_tokens_fault_holds_for_that_token(workers: tuple[Worker, Worker], reason: str) -> None:
    old, new = workers

    await old.parking.park(OLD, reason, 300)

    assert (await old.is_parked(), await new.is_parked()) == (reason, "")


@pytest.mark.parametrize("reason", ["throttled", "usage", "restricted"])
async def test_what_is_the_accounts_fault_holds_for_all(workers: tuple[Worker, Worker], reason: str) -> None:
    old, new = workers

    await old.parking.park(OLD, reason, 300)

    assert (await old.is_parked(), await new.is_parked()) == (reason, reason)


async def test_a_token_that_was_missing_is_another_token(scripts: Scripts, settings: Settings) -> None:
    missing, set_now = Worker(scripts, settings, with_token("")), Worker(scripts, settings, NEW)

    await missing.parking.park(missing.account, "token", 300)

    assert (await missing.is_parked(), await set_now.is_parked()) == ("token", "")


async def test_a_turn_with_a_new_token_is_not_parked_and_may_send(
    workers: tuple[Worker, Worker], scripts: Scripts
) -> None:
    old, new = workers
    await old.parking.park(OLD, "token", 300)
    await new.inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "m1", now_ms(), "?")])
    await new.due()

    claimed = await new.conversations.claim(CID)

    assert isinstance(claimed, Claimed)
    lease, conversation = claimed.lease, claimed.conversation
    assert (conversation.parked, conversation.parked_ms) == ("", 0)
    planned = (await lease.plan(conversation, ["Hello"], PlanMeta())).conversation
    assert planned.plan is not None
    begun = await lease.begin_part(
        planned.plan.id, 0, margin_seconds=1, limit=rate_limit_of(NEW, "send"), patience_seconds=1
    )
    assert begun == MaySend()


async def test_what_waits_is_due_as_soon_as_a_process_comes_with_a_new_token(workers: tuple[Worker, Worker]) -> None:
    old, new = workers
    await old.inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "m1", now_ms(), "?")])
    await old.parking.park(OLD, "token", 300)
    await old.hold_parked()
    assert await old.parking.wake([OLD]) == 0  # a restart with the same token mends nothing
    assert await old.due() == ()

    assert await new.parking.wake([NEW]) == 1

    assert await new.due() == (CID,)


async def test_what_waits_for_the_account_itself_is_not_woken_by_a_new_token(workers: tuple[Worker, Worker]) -> None:
    old, new = workers
    await old.inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "m1", now_ms(), "?")])
    await old.parking.park(OLD, "token", 300)
    await old.hold_parked()
    await old.parking.park(OLD, "throttled", 300)

    assert await new.parking.wake([NEW]) == 0


async def test_two_processes_with_different_tokens_do_not_free_each_other(workers: tuple[Worker, Worker]) -> None:
    """A rolling update, or a worker that was forgotten: whichever token is bad, its own sender alone rests."""
    old, new = workers
    await old.parking.park(OLD, "token", 300)
    assert await new.is_parked() == ""

    await new.parking.park(NEW, "token", 300)  # the new one is bad as well

    assert (await old.is_parked(), await new.is_parked()) == ("token", "token")
    assert await old.parking.wake([OLD]) == await new.parking.wake([NEW]) == 0


async def test_what_holds_longer_for_all_is_not_made_smaller(workers: tuple[Worker, Worker]) -> None:
    old, new = workers
    await old.parking.park(OLD, "restricted", 3600)

    await old.parking.park(OLD, "token", 300)

    assert await new.is_parked() == "restricted"


async def test_what_is_left_of_a_rest_for_all_does_not_end_by_a_refused_token(workers: tuple[Worker, Worker]) -> None:
    old, new = workers
    await old.parking.park(OLD, "throttled", 60)

    await old.parking.park(OLD, "token", 300)

    assert await new.is_parked() == "throttled"


async def test_the_newest_refused_tokens_are_remembered_and_no_token_is_told(scripts: Scripts) -> None:
    parking = Parking(scripts)
    many = [with_token(f"invented-token-{n}") for n in range(9)]
    for account in many:
        await parking.park(account, "token", 300)

    value = str(await scripts.command("GET", parking_key(OLD)))

    assert value == " ".join(["token", *(token_mark(account) for account in reversed(many[-4:]))])
    assert "invented" not in value


async def test_a_rest_that_an_older_version_noted_holds_for_all(
    workers: tuple[Worker, Worker], scripts: Scripts
) -> None:
    old, new = workers
    await scripts.command("SET", parking_key(OLD), "token", "PX", 60_000)

    assert (await old.is_parked(), await new.is_parked()) == ("token", "token")


async def test_a_gentle_rest_is_noted_where_only_another_token_is_parked(workers: tuple[Worker, Worker]) -> None:
    old, new = workers
    await old.parking.park(OLD, "token", 60)

    await old.parking.park(OLD, "usage", 1, unless_parked=True)
    assert await old.is_parked() == "token"
    await new.parking.park(NEW, "usage", 30, unless_parked=True)

    assert await new.is_parked() == "usage"
