"""What ends a conversation that this process cannot get on with: its account is missing here, or it cannot be read."""

from bot.alerts.alert import Alert
from bot.conversation import Conversation
from bot.messaging_window import WindowClosed
from bot.outcome import Outcome
from runtime.logging import get_logger
from store.conversations import ACCOUNT_MISSING_SECONDS, Incident, Lease
from store.views import View, Whose
from worker.alerts.incidents import window_closing
from worker.delivery.closing import close, close_unsaid
from worker.delivery.window import window_of
from worker.services import House

log = get_logger(__name__)


async def wait_for_account(house: House, lease: Lease, conversation: Conversation, *, is_known: bool) -> str:
    """An older or newer configuration than the others have decides nothing: whoever has the account goes on.

    `is_known`: only its token is missing. That can still be given, so such messages wait until their window closes.
    """
    contact = conversation.contact
    window = await window_of(house, conversation, now_ms=conversation.now_ms)
    if isinstance(window, WindowClosed):
        return await _end(lease, conversation, Outcome.EXPIRED, "window_closed")
    held = await lease.hold_for_account(
        _alert(
            Whose(contact.channel.value, contact.account_id, contact.customer_id),
            "account_token_missing" if is_known else "account_missing",
            conversation.now_ms,
        ),
        closes_after_seconds=0 if is_known else ACCOUNT_MISSING_SECONDS,
        window_closing=window_closing(conversation, window),
    )
    if held:
        return "waits: account_missing"
    return await _end(lease, conversation, Outcome.UNDELIVERABLE, "account_removed")


async def wait_for_newer_version(house: House, lease: Lease, view: View, whose: Whose) -> str:
    """A channel that this version does not know."""
    alert = _alert(whose, "account_missing", house.now_ms())
    if await lease.hold_for_account(alert, closes_after_seconds=ACCOUNT_MISSING_SECONDS):
        return "waits: account_missing"
    return await abandon(house, lease, view, "account_removed")


async def abandon(house: House, lease: Lease, view: View, why: str) -> str:
    """Turn after turn has failed, the closing of it too: it ends by its keys, and a human has to look."""
    alert = Alert(
        why,
        conversation=lease.conversation_id,
        channel=view.fields.get("channel", ""),
        account=view.fields.get("account", ""),
        first_at=house.now_ms(),
    )
    closed = await lease.abandon(why, Incident(f"{lease.conversation_id}:{why}", alert))
    log.error("conversation_abandoned", conversation=lease.conversation_id, why=why, messages=closed)
    return Outcome.UNDELIVERABLE.value


async def _end(lease: Lease, conversation: Conversation, outcome: Outcome, why: str) -> str:
    """What arrived of a plan before the account was lost counts."""
    plan = conversation.plan
    if plan and plan.something_arrived:
        return await close(lease, conversation, plan, [part.state for part in plan.parts], outcome, why)
    return await close_unsaid(lease, conversation, outcome, why)


def _alert(whose: Whose, rule: str, now_ms: int) -> Incident:
    channel, account = whose.channel[:20], whose.account_id[:40]
    alert = Alert(rule, detail=account, channel=channel, account=account, first_at=now_ms)
    return Incident(f"account:{channel}:{account}:{rule}", alert)
