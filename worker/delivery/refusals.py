"""What a part that has not gone out means for its messages: later, other words, or never."""

import random
from typing import assert_never

from bot.alerts.alert import Alert
from bot.conversation import Conversation
from bot.errors import NightshiftError
from bot.messaging_window import MARGIN_MS, WINDOW_MS
from bot.outcome import Deferral, Outcome, SilenceReason
from bot.retry import Expire, HandOver, ParkAccount, RetryAfter, Settle, Undeliverable, plan_retry
from clients.graph.errors import failure_of
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.pacing import NoSlot
from store.accounts.parking import Parked, Parking
from store.outboxes.alerts import AlertOutbox
from store.turns.decisions import Overtaken, Unconfirmed
from worker.delivery.steps import BeginAnew, Close, SayHandover, Wait, wait_parked
from worker.delivery.window import MessagingWindow

log = get_logger(__name__)

UNCONFIRMED_SECONDS = 5.0  # as often a reply is tried that no replica has confirmed
SETTLE_SECONDS = 3.0


def step_after_refusal(refusal: NoSlot | Parked | Unconfirmed | Overtaken) -> Wait | BeginAnew:
    """The store did not let the part go, so that no call was made."""
    match refusal:
        case NoSlot(seconds):
            return Wait(seconds, Deferral.BACKOFF, "pace")
        case Parked(reason, seconds_left):
            return wait_parked(seconds_left, reason)
        case Unconfirmed():
            return Wait(UNCONFIRMED_SECONDS, Deferral.BACKOFF, "replicas")
        case Overtaken():
            return BeginAnew()
        case _:
            assert_never(refusal)


class CallFailures:
    """A call to Meta has failed: what follows for the messages, and for the whole account."""

    def __init__(self, account: Account, *, window: MessagingWindow, parking: Parking, outbox: AlertOutbox) -> None:
        self._account = account
        self._window = window
        self._parking = parking
        self._outbox = outbox

    async def step_after(
        self, failure: NightshiftError, conversation: Conversation, *, attempt: int
    ) -> Wait | Close | SayHandover:
        """`attempt` counts from 1."""
        kind = failure_of(failure, attempt=attempt)
        closes_ms, now_ms = conversation.last_action_at_ms + WINDOW_MS - MARGIN_MS, conversation.now_ms
        if now_ms >= closes_ms:
            now_ms = await self._window.sober_ms(now_ms)
        move = plan_retry(
            kind,
            attempt=attempt,
            elapsed_seconds=(now_ms - conversation.oldest_received_ms) / 1000,
            deadline_seconds=(closes_ms - conversation.oldest_received_ms) / 1000,
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
            retry_after_seconds=getattr(failure, "retry_after_seconds", None),
        )
        log.info("send_retry_planned", conversation=conversation.id, failure=kind, move=type(move).__name__)
        match move:
            case RetryAfter(seconds):
                return Wait(seconds, Deferral.BACKOFF, kind.value)
            case ParkAccount(reason, seconds):
                await self._parking.park(self._account, reason, seconds)
                await self._tell_about_account(reason, now_ms=conversation.now_ms)
                return wait_parked(seconds, reason)
            case Settle():
                return Wait(SETTLE_SECONDS, Deferral.SETTLING, "settling")
            case Expire():
                return Close(Outcome.EXPIRED, "window_closed")
            case Undeliverable(reason):
                return Close(Outcome.UNDELIVERABLE, reason)
            case HandOver(reason, can_tell=False):
                return Close(Outcome.SILENCED, SilenceReason.OTHER_APP, rule=reason)
            case HandOver(reason):
                return SayHandover(reason)
            case _:
                assert_never(move)

    async def _tell_about_account(self, reason: str, *, now_ms: int) -> None:
        channel, account_id = self._account.channel.value, self._account.id
        alert = Alert(f"account_{reason}", channel=channel, account=account_id, first_at=now_ms)
        await self._outbox.raise_alert(f"account:{channel}:{account_id}:{reason}", alert)
