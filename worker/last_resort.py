"""What ends a conversation that this process cannot get on with: its account is missing here, or it cannot be read."""

from collections.abc import Callable

from bot.alerts.alert import Alert
from bot.conversation import Conversation
from bot.messaging_window import WindowClosed
from bot.outcome import Outcome
from runtime.logging import get_logger
from store.turns.conversations import ACCOUNT_MISSING_SECONDS
from store.turns.lease import Incident, Lease
from store.turns.views import View, Whose
from worker.alerts.incidents import window_closing
from worker.delivery.closing import close, close_unsaid
from worker.delivery.progress import Progress
from worker.delivery.steps import Close
from worker.delivery.window import MessagingWindow
from worker.turn_end import Ended, Waits

log = get_logger(__name__)


class LastResort:
    def __init__(self, lease: Lease, window: MessagingWindow, now_ms: Callable[[], int]) -> None:
        self._lease = lease
        self._window = window
        self._now_ms = now_ms

    async def wait_for_account(self, conversation: Conversation, *, is_known: bool) -> Ended | Waits:
        """An older or newer configuration than the others have decides nothing: a worker that has the account goes on.

        `is_known`: only its token is missing. That can still be given, so such messages wait until their window closes.
        """
        contact = conversation.contact
        window = await self._window.at(conversation.now_ms, conversation)
        if isinstance(window, WindowClosed):
            return await self._end(conversation, Outcome.EXPIRED, "window_closed")
        held = await self._lease.hold_for_account(
            _alert(
                Whose(contact.channel.value, contact.account_id, contact.customer_id),
                "account_token_missing" if is_known else "account_missing",
                conversation.now_ms,
            ),
            closes_after_seconds=0 if is_known else ACCOUNT_MISSING_SECONDS,
            window_closing=window_closing(conversation, window),
        )
        if held:
            return Waits("account_missing")
        return await self._end(conversation, Outcome.UNDELIVERABLE, "account_removed")

    async def wait_for_newer_version(self, view: View, whose: Whose) -> Ended | Waits:
        """A channel that this version does not know."""
        alert = _alert(whose, "account_missing", self._now_ms())
        if await self._lease.hold_for_account(alert, closes_after_seconds=ACCOUNT_MISSING_SECONDS):
            return Waits("account_missing")
        return await self.abandon(view, "account_removed")

    async def abandon(self, view: View, why: str) -> Ended:
        """Turn after turn has failed, the closing of it too: it ends by its keys, and a human has to look."""
        conversation_id = view.conversation_id
        alert = Alert(
            why,
            conversation=conversation_id,
            channel=view.fields.get("channel", ""),
            account=view.fields.get("account", ""),
            first_at=self._now_ms(),
        )
        closed = await self._lease.abandon(why, Incident(f"{conversation_id}:{why}", alert))
        log.error("conversation_abandoned", conversation=conversation_id, why=why, messages=closed)
        return Ended(Outcome.UNDELIVERABLE)

    async def _end(self, conversation: Conversation, outcome: Outcome, why: str) -> Ended | Waits:
        """What arrived of a plan before the account was lost counts."""
        plan = conversation.plan
        if plan and plan.something_arrived:
            return await close(self._lease, Progress(conversation, plan), Close(outcome, why))
        return await close_unsaid(self._lease, conversation, outcome, why)


def _alert(whose: Whose, rule: str, now_ms: int) -> Incident:
    channel, account = whose.channel[:20], whose.account_id[:40]
    alert = Alert(rule, detail=account, channel=channel, account=account, first_at=now_ms)
    return Incident(f"account:{channel}:{account}:{rule}", alert)
