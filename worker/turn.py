"""The road of a turn, all that is done for one conversation that is due:

1. A plan that stands is delivered, or given up when it does not get on.
2. Else: may it be answered now (`admission.py`)? Has a manager answered where no webhook told of it?
3. A draft is written, by the model or as a line of our own (`drafting.py`).
4. The plan is stored, unless there is news that the draft has not read: then the turn starts again, at most twice.
5. The plan is delivered to its end (`delivery/delivery.py`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import assert_never

from bot.conversation import Conversation, Plan
from bot.outcome import TELLS_CUSTOMER, Outcome
from bot.reply.layout import arrange
from runtime.logging import get_logger
from store.turns.decisions import AllTakenBack, AlreadyArrived, NewsCame, PlanAnswer, Planned
from store.turns.lease import Lease
from worker.admission import Admission, CloseUnsaid, MayAnswer
from worker.agent.agent import Budget
from worker.agent.media import MediaReader
from worker.agent.telemetry import Telemetry
from worker.delivery.closing import close_unsaid, finish_with_nothing
from worker.delivery.delivery import Delivery
from worker.delivery.drafts import Draft
from worker.delivery.steps import Wait
from worker.delivery.waiting import Waiting
from worker.drafting import FAILED_TURNS_BEFORE_HANDOVER, DraftWriter
from worker.turn_end import Ended, TurnEnd

log = get_logger(__name__)

MAX_RESTARTS = 2  # a customer who keeps writing is answered all the same
STUB_STANDS_SECONDS = 300.0  # a stub that could not be sent for so long is old: the model may be well again
# A further draft takes as long as the last one, give or take; with less time than this it is not begun.
DRAFT_MARGIN = 1.25


class Turn:
    """Under one lease. `look_back` hands to the inbox what no webhook has told of, and says whether there was any."""

    def __init__(
        self,
        lease: Lease,
        *,
        admission: Admission,
        look_back: Callable[[Conversation], Awaitable[bool]] | None,
        writer: DraftWriter,
        delivery: Delivery,
        waiting: Waiting,
        telemetry: Telemetry,
        media: MediaReader,
        budget: Budget,
        now_ms: Callable[[], int],
        monotonic: Callable[[], float],
    ) -> None:
        self._lease = lease
        self._admission = admission
        self._look_back = look_back
        self._writer = writer
        self._delivery = delivery
        self._waiting = waiting
        self._telemetry = telemetry
        self._media = media
        self._budget = budget
        self._now_ms = now_ms
        self._monotonic = monotonic

    async def run(self, conversation: Conversation) -> TurnEnd:
        """Raise `LeaseLost` when another turn, or a human, decides."""
        plan = conversation.plan
        if plan and _stands(plan, conversation):
            if plan.is_damaged:
                return await self._delivery.give_up(conversation, plan, "plan_damaged")
            if conversation.failed_turns - plan.failures >= FAILED_TURNS_BEFORE_HANDOVER:
                return await self._delivery.give_up(conversation, plan, "turns_failed")
            return await self._delivery.deliver(conversation, plan)
        return await self._answer(conversation)

    async def _answer(self, conversation: Conversation) -> TurnEnd:
        in_hand: Draft | None = None  # an answer that newer messages have overtaken
        for restart in range(MAX_RESTARTS + 1):
            admitted = await self._admission.decide(conversation)
            if not isinstance(admitted, MayAnswer):
                return await self._not_now(conversation, admitted)
            if restart == 0 and self._look_back and await self._look_back(conversation):
                seen = await self._lease.reread()  # the lease is lost, if a human's words were among them
                conversation = seen if seen.messages else conversation
            began = self._monotonic()
            draft = await self._writer.draft(conversation, self._budget)
            now = self._monotonic()
            is_last = restart == MAX_RESTARTS or self._budget.left(now) < (now - began) * DRAFT_MARGIN
            if in_hand and draft.is_stub:  # the answer to what it has read is better than none to all of it
                draft, is_last = in_hand, True
            elif in_hand:
                await self._telemetry.superseded(in_hand.record, conversation)
            match await self._plan(draft, whatever_came=is_last):
                case Planned(fresh, plan):
                    return await self._deliver(draft, fresh, plan)
                case AlreadyArrived(fresh, plan):  # an echo has proved what was given up for lost
                    await self._telemetry.superseded(draft.record, conversation)
                    return await self._delivery.deliver(fresh, plan)
                case NewsCame(fresh) if fresh.messages:
                    # What it was made from has changed, or there is time to think about what came: it is not said.
                    in_hand = draft if draft.is_answer and fresh.revised == draft.conversation.revised else None
                    if in_hand is None:
                        await self._telemetry.superseded(draft.record, conversation)
                case NewsCame() | AllTakenBack():  # the customer took every message back
                    await self._telemetry.superseded(draft.record, conversation)
                    return await finish_with_nothing(self._lease)
                case answer:
                    assert_never(answer)
            if is_last:
                break
            conversation = self._media.remembered(fresh)
            log.info("turn_starts_again", conversation=conversation.id, restart=restart + 1)
        # The customer has changed the words while there was no time left: they get a turn, and a budget, of their own.
        return await self._waiting.wait(conversation, Wait(0, "released", "changed"))

    async def _not_now(self, conversation: Conversation, admitted: Wait | CloseUnsaid) -> TurnEnd:
        match admitted:
            case Wait():
                return await self._waiting.wait(conversation, admitted)
            case CloseUnsaid(outcome, why, alerts):
                return await close_unsaid(self._lease, conversation, outcome, why, alert=alerts)
            case _:
                assert_never(admitted)

    async def _plan(self, draft: Draft, *, whatever_came: bool) -> PlanAnswer:
        conversation = draft.conversation
        reply = arrange(
            draft.words,
            draft.rich_content,
            channel=conversation.contact.channel,
            has_buttons=bool(draft.meta.quick_replies),
            mid=conversation.messages[-1].mid,
        )
        return await self._lease.plan(
            conversation,
            reply.texts,
            replace(draft.meta, link_buttons=reply.links),
            enclosures=reply.enclosures,
            whatever_came=whatever_came,
        )

    async def _deliver(self, draft: Draft, conversation: Conversation, plan: Plan) -> TurnEnd:
        end = await self._delivery.deliver(self._media.remembered(conversation), plan)
        if isinstance(end, Ended) and end.outcome in TELLS_CUSTOMER:
            await self._telemetry.delivered(draft.record, conversation, at_ms=self._now_ms())
        return end


def _stands(plan: Plan, conversation: Conversation) -> bool:
    """A plan of which nothing can have arrived gives way to newer messages, and a stub after a while to another try.

    Whether what it was made from is still what it was, the claim has seen to.
    """
    if plan.something_arrived or plan.meta.after_unknown:
        return True
    if plan.is_damaged or {message.key for message in conversation.messages} - set(plan.keys):
        return False
    waited_seconds = (conversation.now_ms - plan.made_at_ms) / 1000
    return plan.meta.outcome != Outcome.HANDED_OVER or waited_seconds < STUB_STANDS_SECONDS
