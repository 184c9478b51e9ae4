"""How a turn ends well, in one go: written down, sent, known by Meta's id, booked."""

import itertools
from typing import Any

from bot.conversation import Conversation, PartState, Plan, PlanMeta
from bot.outcome import Outcome
from runtime.settings import Settings
from store.scripts import Scripts
from store.turns.conversations import Conversations
from store.turns.lease import Lease

_numbers = itertools.count()


async def arrives(scripts: Scripts, settings: Settings, lease: Lease, plan: Plan, mid: str = "") -> None:
    """The first part of it."""
    await lease.begin_part(plan.id, 0, margin_seconds=1)
    await Conversations(scripts, settings).record(
        lease.conversation_id, plan.id, 0, PartState.SENT, mid=mid or f"told-{next(_numbers)}"
    )


async def answered(
    scripts: Scripts, settings: Settings, lease: Lease, conversation: Conversation, **finish: Any
) -> None:
    conversation = (await lease.plan(conversation, ["Ответ"], PlanMeta())).conversation
    assert conversation.plan is not None
    await arrives(scripts, settings, lease, conversation.plan)
    await lease.finish(Outcome.ANSWERED, conversation.plan.keys, **finish)
