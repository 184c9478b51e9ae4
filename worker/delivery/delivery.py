"""The road of a plan, from Redis to its customer and to its end:

1. Each part that is not sent is begun (a decision, fenced), called and recorded (a fact): `PartSender.put`.
2. One that may have arrived is looked for at Meta, never sent on a guess: `Settler.settle`.
3. Whatever is not "go on" is a `NextStep`; what a refusal means is decided in `refusals.py`.
4. A line that tells of a human takes the place of words that cannot arrive, and goes the same road.
5. The end is one script: outcome, history, alert, lease (`closing.py`); or the lease is held (`waiting.py`).
"""

from collections.abc import Callable
from typing import assert_never

from bot.agent.transcript import burst_text
from bot.conversation import Conversation, PartState, Plan, PlanMeta
from bot.outcome import Deferral, Outcome
from bot.reply.splitting import limit_for, split_text
from bot.text.language import script_language
from runtime.config import CustomerLimits
from store.turns.decisions import AllTakenBack, AlreadyArrived, AlreadyIn, NewsCame, Planned
from store.turns.lease import Lease
from worker.delivery.closing import close, finish, finish_with_nothing
from worker.delivery.enclosures import send_enclosures
from worker.delivery.progress import Progress
from worker.delivery.refusals import CallFailures, step_after_refusal
from worker.delivery.sending import Arrived, NotArrived, PartSender
from worker.delivery.settling import Settler
from worker.delivery.steps import BeginAnew, Close, Finish, LeaveToPeople, NextStep, ReadAgain, SayHandover, Wait
from worker.delivery.waiting import Waiting
from worker.delivery.window import MessagingWindow
from worker.limits import fields_of_turn
from worker.turn_end import Ended, TurnEnd, Waits


class Delivery:
    """Of one conversation under one lease. `handoff_line` has the words for a language."""

    def __init__(
        self,
        lease: Lease,
        *,
        sender: PartSender,
        settler: Settler,
        failures: CallFailures,
        window: MessagingWindow,
        waiting: Waiting,
        limits: CustomerLimits,
        takeover_minutes: float,
        handoff_line: Callable[[str | None], str],
    ) -> None:
        self._lease = lease
        self._sender = sender
        self._settler = settler
        self._failures = failures
        self._window = window
        self._waiting = waiting
        self._limits = limits
        self._takeover_minutes = takeover_minutes
        self._handoff_line = handoff_line

    async def deliver(self, conversation: Conversation, plan: Plan) -> TurnEnd:
        """Send what is not sent yet, in order; stop at the first part that does not arrive. Raise `LeaseLost`."""
        progress = Progress(conversation, plan)
        return await self._go(progress, await self._send_rest(progress))

    async def give_up(self, conversation: Conversation, plan: Plan, reason: str) -> TurnEnd:
        """This plan does not get on, turn after turn, or cannot be read: a human takes over from what arrived."""
        progress = Progress(conversation, plan)
        if progress.all_arrived and not plan.is_damaged:  # all that is missing are enclosures
            return await self._finish(progress)
        return await self._go(progress, SayHandover(reason))

    async def _go(self, progress: Progress, step: NextStep) -> TurnEnd:
        while True:
            match step:
                case ReadAgain():
                    match await self._read_again():
                        case Progress() as progress:
                            step = await self._send_rest(progress)
                        case step:
                            continue
                case SayHandover(reason):
                    match await self._replace(progress, reason):
                        case Progress() as progress:
                            step = await self._send_rest(progress)
                        case step:
                            continue
                case Finish():
                    if progress.all_arrived:
                        await send_enclosures(progress, self._sender, self._window)
                    return await self._finish(progress)
                case Close():
                    return await self._close(progress, step)
                case Wait():
                    return await self._waiting.wait(progress.conversation, step)
                case BeginAnew():
                    return await finish_with_nothing(self._lease)
                case LeaveToPeople():
                    return await self._leave_to_people()
                case _:
                    assert_never(step)

    async def _send_rest(self, progress: Progress) -> NextStep:
        conversation, plan = progress.conversation, progress.plan
        for part in progress.rest():
            if part.state is PartState.UNKNOWN:
                return await self._settler.settle(conversation, plan.id, part)
            if await self._window.is_closed(conversation):
                return Close(Outcome.EXPIRED, "window_closed")
            match await self._sender.put(conversation.contact.customer_id, plan.id, part):
                case Arrived() | AlreadyIn(PartState.SENT):
                    progress.states[part.index] = PartState.SENT
                case NotArrived(failure):
                    return await self._failures.step_after(failure, conversation, attempt=part.tries + 1)
                case AlreadyIn(PartState.UNKNOWN):
                    return await self._settler.settle(conversation, plan.id, part)
                case AlreadyIn():
                    break
                case refusal:
                    return step_after_refusal(refusal)
        return Finish() if progress.something_arrived else LeaveToPeople()

    async def _replace(self, progress: Progress, reason: str) -> Progress | Close | BeginAnew:
        """When the line that tells of a human does not arrive either, the customer has not been told, and the books
        say so."""
        conversation, plan = progress.conversation, progress.plan
        line = self._handoff_line(script_language(burst_text(conversation.messages)))
        texts = split_text(line, **limit_for(conversation.contact.channel))
        if progress.something_arrived or [part.text for part in plan.parts] == texts:
            return Close(Outcome.UNDELIVERABLE, reason)
        meta = PlanMeta(
            Outcome.HANDED_OVER.value,
            reason,
            stage=plan.meta.stage,
            rule=reason,
            # Should this line not get out at once, the model must not answer anew: its words may have arrived.
            after_unknown=PartState.UNKNOWN in progress.states,
        )
        match await self._lease.plan(conversation, texts, meta, whatever_changed=True):
            case Planned(fresh, stands) | AlreadyArrived(fresh, stands):
                return Progress(fresh, stands)
            case AllTakenBack():
                return BeginAnew()
            case NewsCame():
                raise AssertionError("no news keeps a fixed line back")

    async def _read_again(self) -> Progress | BeginAnew:
        conversation = await self._lease.reread()
        if conversation.plan is None:  # an edit came just when it was known that nothing of the plan had arrived
            return BeginAnew()
        return Progress(conversation, conversation.plan)

    async def _finish(self, progress: Progress) -> Ended:
        return await finish(self._lease, progress, self._limits, takeover_minutes=self._takeover_minutes)

    async def _close(self, progress: Progress, step: Close) -> Ended | Waits:
        fields = fields_of_turn(progress.conversation, progress.plan.keys, "", self._limits)
        return await close(self._lease, progress, step, fields=fields)

    async def _leave_to_people(self) -> Waits:
        """The draft is dropped, what is open waits for them."""
        conversation = await self._lease.reread()
        seconds = max(conversation.takeover_until_ms - conversation.now_ms, 0) / 1000
        wait = Wait(seconds, Deferral.HUMAN, Deferral.HUMAN.value, warns=True, drops_plan=True)
        return await self._waiting.wait(conversation, wait)
