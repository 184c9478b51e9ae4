"""What the managers are told about a conversation: facts and hashes, never a customer's words or phone."""

from dataclasses import replace

from bot.alerts.alert import Alert
from bot.conversation import Conversation
from bot.messaging_window import MayWrite, WindowClosed
from store.turns.lease import Incident


def incident(conversation: Conversation, rule: str, *, told: bool = False) -> Incident:
    """One incident per conversation and rule; `told`: the customer has read that a human will answer."""
    contact = conversation.contact
    alert = Alert(
        rule,
        told=told,
        conversation=conversation.id,
        channel=contact.channel.value,
        account=contact.account_id,
        waiting_since=conversation.oldest_received_ms,
        last_message_at=conversation.newest_at_ms,
        first_at=conversation.now_ms,
    )
    return Incident(f"{conversation.id}:handover" if told else f"{conversation.id}:{rule}", alert)


def window_closing(conversation: Conversation, window: MayWrite | WindowClosed) -> Incident | None:
    """For a conversation that goes on waiting though its messaging window ends soon; None when that is told already."""
    told = conversation.window_told_ms == conversation.acted_at_ms
    if told or not isinstance(window, MayWrite) or not window.ends_soon:
        return None
    warning = incident(conversation, "window_closing")
    return Incident(warning.id, replace(warning.alert, acted_at=conversation.acted_at_ms))
