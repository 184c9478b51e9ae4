"""The end of messages whose reply does not go on: what arrived of it decides what is booked, and managers are told."""

from collections.abc import Mapping, Sequence

from bot.conversation import Conversation, HistoryLine, PartKind, PartState, Plan
from bot.outcome import Deferral, Outcome
from runtime.logging import get_logger
from store.conversations import Lease, OutcomeRefused
from worker.alerts.incidents import incident

log = get_logger(__name__)

_MAY_HAVE_ARRIVED = (PartState.SENT, PartState.UNKNOWN)


async def close(
    lease: Lease,
    conversation: Conversation,
    plan: Plan,
    states: Sequence[PartState],
    outcome: Outcome,
    why: str,
    *,
    rule: str = "",
    fields: Mapping[str, str] | None = None,
) -> str:
    """The rest of the plan will not be sent. Who has read a part of it was answered, or told, cut; else `outcome`."""
    arrived = PartState.SENT in states
    final = Outcome(plan.meta.outcome) if arrived else outcome
    told = arrived and final is Outcome.HANDED_OVER
    try:
        await lease.finish(
            final,
            plan.keys if arrived else _keys(conversation, plan),
            why=f"cut: {why}" if arrived else why,
            lines=history_lines(conversation, plan, states),
            fields=fields,
            incident=incident(conversation, rule or why, told=told),
        )
    except OutcomeRefused as exc:
        # An echo has proved something since the turn has read it. Counted, so that it cannot go on for ever.
        log.warning("outcome_refused", conversation=conversation.id, reason=str(exc))
        await lease.hold(1.0, Deferral.SETTLING, failed=True)
        return "waits: settling"
    return final.value


async def close_unsaid(
    lease: Lease, conversation: Conversation, outcome: Outcome, rule: str, *, alert: bool = True
) -> str:
    """Nothing can (or may) be said to this customer: the managers are told instead."""
    await lease.finish(
        outcome,
        [message.key for message in conversation.messages],
        why=rule,
        lines=[HistoryLine.of(message) for message in conversation.messages if not message.is_gone],
        incident=incident(conversation, rule) if alert else None,
    )
    return outcome.value


def history_lines(
    conversation: Conversation, plan: Plan, states: Sequence[PartState], enclosed: Sequence[PartState] = ()
) -> list[HistoryLine]:
    """What is kept of the exchange: the messages answered, and just what arrived or may have; a line a message."""
    lines = [HistoryLine.of(m) for m in conversation.messages if m.key in plan.keys and not m.is_gone]
    said = [
        HistoryLine("bot", part.text, conversation.now_ms, part=part.index)
        for part, state in zip(plan.parts, states, strict=True)
        if state in _MAY_HAVE_ARRIVED and part.text.strip()
    ]
    seen = [
        HistoryLine("bot", f"[{part.kind}: {part.text}]", conversation.now_ms, part=part.index)
        for part, state in zip(plan.enclosures, enclosed, strict=False)
        if state in _MAY_HAVE_ARRIVED and part.kind is not PartKind.REACTION
    ]
    return [*lines, *said, *seen]


def _keys(conversation: Conversation, plan: Plan) -> Sequence[str]:
    """Those the plan answers; all that is open, where it does not name them any more."""
    waiting = [message.key for message in conversation.messages]
    return plan.keys if set(plan.keys) & set(waiting) else waiting
