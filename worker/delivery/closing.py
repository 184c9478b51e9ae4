"""The end of messages: what arrived of their reply decides what is booked, and managers are told."""

from collections.abc import Mapping, Sequence

from bot.conversation import MAY_HAVE_ARRIVED, Conversation, HistoryLine, PartKind, PlanMeta
from bot.outcome import Deferral, Outcome
from runtime.config import CustomerLimits
from runtime.logging import get_logger
from store.turns.lease import Incident, Lease, OutcomeRefused
from worker.alerts.incidents import incident
from worker.delivery.progress import Progress
from worker.delivery.steps import Close
from worker.limits import fields_of_turn
from worker.turn_end import Ended, Waits

log = get_logger(__name__)


async def close(
    lease: Lease, progress: Progress, step: Close, *, fields: Mapping[str, str] | None = None
) -> Ended | Waits:
    """The rest of the plan is not sent. A customer who has read a part of it was answered, or told, cut."""
    conversation, plan, arrived = progress.conversation, progress.plan, progress.something_arrived
    final = Outcome(plan.meta.outcome) if arrived else step.outcome
    told = arrived and final is Outcome.HANDED_OVER
    try:
        await lease.finish(
            final,
            plan.keys if arrived else _keys(progress),
            why=f"cut: {step.why}" if arrived else step.why,
            lines=history_lines(progress),
            fields=fields,
            incident=incident(conversation, step.rule or step.why, told=told),
        )
    except OutcomeRefused as exc:
        # An echo has proved something since the turn has read it. Counted, so that it cannot go on for ever.
        log.warning("outcome_refused", conversation=conversation.id, reason=str(exc))
        await lease.hold(1.0, Deferral.SETTLING, failed=True)
        return Waits("settling")
    return Ended(final)


async def close_unsaid(
    lease: Lease, conversation: Conversation, outcome: Outcome, rule: str, *, alert: bool = True
) -> Ended:
    """Nothing can (or may) be said to this customer: the managers are told instead."""
    await lease.finish(
        outcome,
        [message.key for message in conversation.messages],
        why=rule,
        lines=[HistoryLine.of(message) for message in conversation.messages if not message.is_gone],
        incident=incident(conversation, rule) if alert else None,
    )
    return Ended(outcome)


async def finish(lease: Lease, progress: Progress, limits: CustomerLimits, *, takeover_minutes: float) -> Ended:
    """All that could be said has arrived, or a human's words have cut it. A bot that has called for a human keeps out
    of it for `takeover_minutes`."""
    conversation, plan, meta = progress.conversation, progress.plan, progress.plan.meta
    cut = not progress.all_arrived
    fields = {"opted_out": "1" if meta.opts_out else "0", "notebook": meta.scratchpad}
    fields |= fields_of_turn(conversation, plan.keys, meta.rule, limits)
    if meta.stage:
        fields["stage"] = meta.stage
    if meta.discloses and not cut:  # cut by a human's words: what comes after them discloses again
        fields["disclosed"] = "1"
    await lease.finish(
        Outcome(meta.outcome),
        plan.keys,
        why="cut" if cut else meta.why,
        lines=history_lines(progress),
        fields=fields,
        incident=_incident_of(conversation, meta),
        takeover_seconds=takeover_minutes * 60 if meta.calls_human else 0,
    )
    return Ended(Outcome(meta.outcome), meta.why)


async def finish_with_nothing(lease: Lease) -> Ended:
    """What is open, if anything is, gets a turn of its own."""
    await lease.finish(Outcome.SILENCED, [])
    return Ended()


def _incident_of(conversation: Conversation, meta: PlanMeta) -> Incident | None:
    """A handover is told, and so is what the bot promised: a promise that no human hears of is a lie."""
    if meta.outcome == Outcome.HANDED_OVER:
        return incident(conversation, meta.rule, told=True)
    if meta.rule == "salvaged":
        return incident(conversation, "salvaged")
    if meta.task and meta.task != "NONE":
        return incident(conversation, f"task_{meta.task.lower()}")
    return None


def history_lines(progress: Progress) -> list[HistoryLine]:
    """What is kept of the exchange: the messages answered, and just what arrived or may have; a line a message."""
    conversation, plan = progress.conversation, progress.plan
    lines = [HistoryLine.of(m) for m in conversation.messages if m.key in plan.keys and not m.is_gone]
    said = [
        HistoryLine("bot", part.text, conversation.now_ms, part=part.index)
        for part, state in zip(plan.parts, progress.states, strict=True)
        if state in MAY_HAVE_ARRIVED and part.text.strip()
    ]
    seen = [
        HistoryLine("bot", f"[{part.kind}: {part.text}]", conversation.now_ms, part=part.index)
        for part, state in zip(plan.enclosures, progress.enclosed, strict=True)
        if state in MAY_HAVE_ARRIVED and part.kind is not PartKind.REACTION
    ]
    return [*lines, *said, *seen]


def _keys(progress: Progress) -> Sequence[str]:
    """Those the plan answers; all that is open, where it does not name them any more."""
    waiting = [message.key for message in progress.conversation.messages]
    return progress.plan.keys if set(progress.plan.keys) & set(waiting) else waiting
