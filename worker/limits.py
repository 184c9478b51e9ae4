"""The limits of one customer, between what the store has counted and what `bot.limits` decides."""

from collections.abc import Collection

from bot.agent.transcript import burst_text
from bot.conversation import Conversation, OpenMessage
from bot.cutting import cut_middle
from bot.incoming.intents import Intent, intent_of
from bot.limits import (
    RULES,
    Limits,
    Silent,
    TooMuch,
    Within,
    burst_of,
    decide,
    write_burst,
)
from runtime.config import CustomerLimits

LEAST_TURNS_KEPT = 20  # enough to tell a program by


def limit_of(conversation: Conversation, limits: CustomerLimits) -> Within | TooMuch | Silent:
    """Asked before any model is paid. Who wants no more messages is heard whatever it has cost."""
    texts = [message.text for message in conversation.messages]
    if intent_of(texts) is Intent.OPT_OUT:
        return Within()
    return decide(
        burst_of(texts, [message.received_ms for message in conversation.messages]),
        conversation.turns,
        limits=Limits(limits.turns_per_customer_hour, limits.cost_per_customer_day),
        spent_today=conversation.spent_today,
        limited=conversation.limited,
        now_ms=conversation.now_ms,
    )


def fields_of_turn(
    conversation: Conversation, keys: Collection[str], rule: str, limits: CustomerLimits
) -> dict[str, str]:
    """What the end of a turn leaves behind for the limits, in the same step as its outcome."""
    answered: list[OpenMessage] = [message for message in conversation.messages if message.key in keys]
    burst = burst_of([message.text for message in answered], [message.received_ms for message in answered])
    most = max(limits.turns_per_customer_hour, LEAST_TURNS_KEPT)
    fields = {"turn": f"{most} {write_burst(burst)}"}
    return fields | {"limited": f"{rule} {conversation.now_ms}"} if rule in RULES else fields


def words_for_model(conversation: Conversation, limits: CustomerLimits) -> str:
    """The burst as far as `burst_chars` reaches: no reply is worth reading a quarter of a million characters."""
    return cut_middle(burst_text(conversation.messages), limits.burst_chars)
