"""What the managers are told about a conversation: facts and hashes, never a customer's words or phone."""

from typing import Any

from bot.conversation import Conversation
from runtime.conversations import Incident


def incident(conversation: Conversation, rule: str, *, told: bool = False, detail: str = "") -> Incident:
    """One incident per conversation and rule; `told`: the customer has read that a human will answer."""
    contact = conversation.contact
    body: dict[str, Any] = {
        "rule": rule,
        "detail": detail,
        "told": told,
        "conversation": conversation.id,
        "channel": contact.channel.value,
        "account": contact.account_id,
        "waiting_since": conversation.oldest_received_ms,
        "last_message_at": conversation.newest_at_ms,
        "first_at": conversation.now_ms,
        "count": 1,
    }
    return Incident(f"{conversation.id}:handover" if told else f"{conversation.id}:{rule}", body)
