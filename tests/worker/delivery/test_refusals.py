"""What follows for the messages of a part that did not go out, and for its whole account."""

import pytest

from bot.conversation import Conversation, OpenMessage
from bot.errors import NightshiftError
from bot.incoming.events import Channel, Contact
from bot.messaging_window import MARGIN_MS, WINDOW_MS
from bot.outcome import Deferral, Outcome, SilenceReason
from clients.graph import errors
from runtime.settings import Account, Settings
from store.accounts.pacing import NoSlot
from store.accounts.parking import Parked, Parking
from store.keys import CLOCK_AHEAD, parking_key
from store.outboxes.alerts import AlertOutbox
from store.scripts import Scripts
from store.turns.conversations import Conversations
from store.turns.decisions import Overtaken, Unconfirmed
from worker.delivery.refusals import SETTLE_SECONDS, UNCONFIRMED_SECONDS, CallFailures, step_after_refusal
from worker.delivery.steps import PARKED, BeginAnew, Close, SayHandover, Wait
from worker.delivery.window import MessagingWindow

ACCOUNT = Account(channel="instagram", id="17841400000000042")
CONTACT = Contact(Channel.INSTAGRAM, ACCOUNT.id, "9001000000000123")
NOW_MS = 1_790_000_000_000
CLOSES_MS = WINDOW_MS - MARGIN_MS

pytestmark = pytest.mark.anyio


def asked(ago_ms: int = 1000) -> Conversation:
    at = NOW_MS - ago_ms
    message = OpenMessage("key", "mid", at, at, "Привет")
    return Conversation(CONTACT.conversation_id, CONTACT, "1", (message,), (), None, NOW_MS, acted_at_ms=at)


@pytest.fixture
def failures(scripts: Scripts, settings: Settings) -> CallFailures:
    window = MessagingWindow(Conversations(scripts, settings), lambda: NOW_MS)
    return CallFailures(ACCOUNT, window=window, parking=Parking(scripts), outbox=AlertOutbox(scripts))


@pytest.mark.parametrize(
    ("refusal", "step"),
    [
        (NoSlot(3.0), Wait(3.0, Deferral.BACKOFF, "pace")),
        (Parked("throttled", 30.0), Wait(30.5, PARKED, "throttled", warns=True)),
        (Unconfirmed(), Wait(UNCONFIRMED_SECONDS, Deferral.BACKOFF, "replicas")),
        (Overtaken(), BeginAnew()),
    ],
)
def test_what_the_store_did_not_let_go_waits_or_begins_anew(
    refusal: NoSlot | Parked | Unconfirmed | Overtaken, step: Wait | BeginAnew
) -> None:
    assert step_after_refusal(refusal) == step


@pytest.mark.parametrize(
    ("failure", "step"),
    [
        (errors.SendOutcomeUnknown(), Wait(SETTLE_SECONDS, Deferral.SETTLING, "settling")),
        (errors.PermissionInDoubt(), Wait(SETTLE_SECONDS, Deferral.SETTLING, "settling")),
        (errors.MessagingWindowClosed(), Close(Outcome.EXPIRED, "window_closed")),
        (errors.RecipientGone(), Close(Outcome.UNDELIVERABLE, "recipient_gone")),
        (
            errors.ThreadOwnedByAnother(),
            Close(Outcome.SILENCED, SilenceReason.OTHER_APP, rule="owned_by_another"),
        ),
        (errors.BadContent(), SayHandover("bad_content")),
    ],
)
async def test_each_kind_of_failure_has_its_step(
    failures: CallFailures, scripts: Scripts, failure: NightshiftError, step: Wait | Close | SayHandover
) -> None:
    assert await failures.step_after(failure, asked(), attempt=1) == step
    assert await scripts.command("EXISTS", parking_key(ACCOUNT)) == 0


async def test_what_did_not_happen_is_tried_later_and_no_sooner_than_meta_says(failures: CallFailures) -> None:
    step = await failures.step_after(errors.GraphAPIUnavailable(retry_after_seconds=77.0), asked(), attempt=1)

    assert isinstance(step, Wait)
    assert (step.seconds >= 77, step.deferral, step.reason) == (True, Deferral.BACKOFF, "transient")


@pytest.mark.parametrize(
    ("failure", "attempt", "reason"),
    [
        (errors.Throttled(), 1, "throttled"),
        (errors.TokenInvalid(), 1, "token"),
        (errors.PermissionMissing(), 1, "permission"),
        (errors.PermissionInDoubt(), 2, "permission"),
        (errors.AccountRestricted(), 1, "restricted"),
    ],
)
async def test_where_the_account_is_at_fault_it_rests_and_managers_are_told(
    failures: CallFailures, scripts: Scripts, failure: NightshiftError, attempt: int, reason: str
) -> None:
    step = await failures.step_after(failure, asked(), attempt=attempt)

    assert isinstance(step, Wait)
    assert (step.deferral, step.reason, step.warns) == (PARKED, reason, True)
    assert str(await scripts.command("GET", parking_key(ACCOUNT))).startswith(reason)
    alert = await AlertOutbox(scripts).load(f"account:instagram:{ACCOUNT.id}:{reason}")
    assert alert is not None
    assert (alert.alert.rule, alert.alert.account) == (f"account_{reason}", ACCOUNT.id)


async def test_past_the_window_nothing_is_tried_again(failures: CallFailures) -> None:
    late = asked(ago_ms=CLOSES_MS + 1)

    assert await failures.step_after(errors.GraphAPIUnavailable(), late, attempt=1) == Close(
        Outcome.EXPIRED, "window_closed"
    )


async def test_a_clock_in_doubt_does_not_end_the_tries(failures: CallFailures, scripts: Scripts) -> None:
    await scripts.command("SET", CLOCK_AHEAD, 3_600_000)

    step = await failures.step_after(errors.GraphAPIUnavailable(), asked(ago_ms=CLOSES_MS + 1), attempt=1)

    assert isinstance(step, Wait)
