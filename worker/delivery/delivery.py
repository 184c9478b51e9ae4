"""From a plan to the customer: part by part, each one written down before and after, none of them guessed."""

import asyncio
import random
from collections.abc import Sequence
from functools import partial

from bot.agent.transcript import burst_text
from bot.alerts.alert import Alert
from bot.conversation import Conversation, Part, PartState, Plan, PlanMeta
from bot.errors import NightshiftError
from bot.messaging_window import MARGIN_MS, WINDOW_MS, WindowClosed
from bot.outcome import Deferral, Outcome, SilenceReason
from bot.reply.splitting import limit_for, split_text
from bot.retry import Expire, HandOver, ParkAccount, RetryAfter, Settle, Undeliverable, plan_retry
from bot.text.language import script_language
from clients.graph.errors import failure_of
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.pacing import Place
from store.accounts.parking import LOOK_AGAIN_SECONDS, Parked
from store.conversations import Incident, Lease
from worker.alerts.incidents import incident
from worker.delivery.closing import close, history_lines
from worker.delivery.enclosures import Enclosing
from worker.delivery.sending import PartSender
from worker.delivery.settling import Found, LineTooLong, Settlement, look_up
from worker.delivery.window import sober_now_ms, warning_of, window_of
from worker.limits import fields_of_turn
from worker.services import House

log = get_logger(__name__)

THROTTLED = ("throttled", "usage")  # reasons of an account's rest that forbid reading back, too
SETTLE_AGAIN_SECONDS = 10.0
UNCONFIRMED_SECONDS = 5.0  # as often a reply is tried that no replica has confirmed


class Delivery:
    def __init__(self, house: House, lease: Lease, account: Account) -> None:
        self._house = house
        self._lease = lease
        self._account = account
        self._sender = PartSender(house, lease, account)

    async def deliver(self, conversation: Conversation, plan: Plan) -> str:
        """Send what is not sent yet, in order; stop at the first part that does not arrive."""
        states = [part.state for part in plan.parts]
        for part in plan.parts:
            if part.state is PartState.SENT:
                continue
            if part.state is PartState.DROPPED:
                break
            if part.state is PartState.UNKNOWN:
                return await self._settle(conversation, plan, part)
            window = await window_of(self._house, conversation, now_ms=self._house.now_ms())
            if isinstance(window, WindowClosed):  # thinking takes time, and a plan may have waited for hours
                return await self._close(Outcome.EXPIRED, "window_closed", conversation, plan, states)
            begun, failure = await self._sender.put(conversation, plan, part)
            if isinstance(begun, Place | Parked):
                return await self._stand_back(begun, conversation)
            if begun == "unconfirmed":
                await self._lease.hold(UNCONFIRMED_SECONDS, Deferral.BACKOFF)
                return "waits: replicas"
            if failure is not None:
                return await self._after(failure, conversation, plan, part, states)
            if begun == PartState.UNKNOWN:
                return await self._settle(conversation, plan, part)
            if begun == "gone":  # what it was made from was changed or taken back: what is left is thought about anew
                return await self._begin_anew()
            if begun not in (PartState.SENDING, PartState.SENT):
                break
            states[part.index] = PartState.SENT
        if PartState.SENT not in states:
            return await self._leave_to_people()
        if _all_arrived(states) and plan.enclosures:
            enclosed = await Enclosing(self._house, self._sender).send(conversation, plan)
            return await self._finish(conversation, plan, states, enclosed)
        return await self._finish(conversation, plan, states)

    async def give_up(self, conversation: Conversation, plan: Plan, reason: str) -> str:
        """This plan does not get on, turn after turn, or cannot be read: a human takes over from what arrived."""
        states = [part.state for part in plan.parts]
        if _all_arrived(states) and not plan.is_damaged:  # all that is missing are enclosures
            return await self._finish(conversation, plan, states, [part.state for part in plan.enclosures])
        return await self._hand_over(reason, conversation, plan, states)

    async def _begin_anew(self) -> str:
        await self._lease.finish(Outcome.SILENCED, [])
        return "nothing"

    async def _stand_back(self, place: Place | Parked, conversation: Conversation) -> str:
        if isinstance(place, Parked):
            seconds = min(place.seconds_left, LOOK_AGAIN_SECONDS) + 0.5
            closing = await warning_of(self._house, conversation)
            await self._lease.hold(seconds, "parked", window_closing=closing)
            return f"waits: {place.reason}"
        await self._lease.hold(place.seconds, Deferral.BACKOFF)
        return "waits: pace"

    async def _leave_to_people(self) -> str:
        """A human has written before anything arrived: the draft is dropped, what is open waits for them."""
        conversation = await self._lease.reread()
        seconds = max(conversation.takeover_until_ms - conversation.now_ms, 0) / 1000
        closing = await warning_of(self._house, conversation)
        await self._lease.hold(seconds, Deferral.HUMAN, drop_plan=True, window_closing=closing)
        return f"waits: {Deferral.HUMAN}"

    async def _settle(self, conversation: Conversation, plan: Plan, part: Part) -> str:
        """The part may have arrived: our echo tells, or the Conversations API; it is never sent on a guess."""
        graph = self._house.graph(self._account)
        try:
            verdict = await look_up(
                graph,
                conversation,
                part,
                stand_in_line=self._stand_in_line_to_read,
                is_known=partial(self._house.conversations.knows_as_sent, conversation.id),
            )
        except LineTooLong as line:
            await self._lease.hold(line.seconds, Deferral.SETTLING)
            return "waits: settling"
        match verdict:
            case Found(mid):
                await self._house.conversations.record(conversation.id, plan.id, part.index, PartState.SENT, mid=mid)
            case Settlement.NOT_SENT:
                await self._house.conversations.record(
                    conversation.id, plan.id, part.index, PartState.FAILED, code="not_found"
                )
            case Settlement.HOPELESS:
                return await self._hand_over("send_unknown", conversation, plan, [p.state for p in plan.parts])
            case wait:
                await self._house.conversations.record(
                    conversation.id, plan.id, part.index, PartState.UNKNOWN, code=wait.code
                )
                await self._lease.hold(wait.seconds, Deferral.SETTLING)
                return "waits: settling"
        conversation = await self._lease.reread()
        if conversation.plan is None:
            raise AssertionError("a plan with an unknown part cannot vanish under its lease")
        return await self.deliver(conversation, conversation.plan)

    async def _stand_in_line_to_read(self, patience_seconds: float) -> None:
        place = await self._house.pacing.take(self._account, "read", patience_seconds=patience_seconds)
        if isinstance(place, Parked):
            # Reading back is no sending, but calls while Meta throttles lengthen the block (meta.md 6.1).
            if place.reason in THROTTLED:
                raise LineTooLong(min(place.seconds_left + 0.5, SETTLE_AGAIN_SECONDS))
            return
        if not place.taken:
            raise LineTooLong(place.seconds)
        await asyncio.sleep(place.seconds)

    async def _after(
        self, failure: NightshiftError, conversation: Conversation, plan: Plan, part: Part, states: list[PartState]
    ) -> str:
        """What a refusal means for the messages: later, somebody else, or never."""
        kind = failure_of(failure, attempt=part.tries + 1)
        closes_ms, now_ms = conversation.last_action_at_ms + WINDOW_MS - MARGIN_MS, conversation.now_ms
        if now_ms >= closes_ms:
            now_ms = await sober_now_ms(self._house, now_ms)
        deadline = (closes_ms - conversation.oldest_received_ms) / 1000
        move = plan_retry(
            kind,
            attempt=part.tries + 1,
            elapsed_seconds=(now_ms - conversation.oldest_received_ms) / 1000,
            deadline_seconds=deadline,
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
            retry_after_seconds=getattr(failure, "retry_after_seconds", None),
        )
        log.info("send_retry_planned", conversation=conversation.id, failure=kind, move=type(move).__name__)
        match move:
            case RetryAfter(seconds):
                await self._lease.hold(seconds, Deferral.BACKOFF)
                return f"waits: {kind}"
            case ParkAccount(reason, seconds):
                await self._house.parking.park(self._account, reason, seconds)
                await self._tell_about_account(conversation, reason)
                seconds = min(seconds, LOOK_AGAIN_SECONDS) + 0.5
                closing = await warning_of(self._house, conversation)
                await self._lease.hold(seconds, "parked", window_closing=closing)
                return f"waits: {reason}"
            case Settle():
                await self._lease.hold(3.0, Deferral.SETTLING)
                return "waits: settling"
            case Expire():
                return await self._close(Outcome.EXPIRED, "window_closed", conversation, plan, states)
            case Undeliverable(reason):
                return await self._close(Outcome.UNDELIVERABLE, reason, conversation, plan, states)
            case HandOver(reason, can_tell=False):
                return await self._close(
                    Outcome.SILENCED, SilenceReason.OTHER_APP, conversation, plan, states, rule=reason
                )
            case HandOver(reason):
                return await self._hand_over(reason, conversation, plan, states)

    async def _hand_over(self, reason: str, conversation: Conversation, plan: Plan, states: list[PartState]) -> str:
        """These words will not arrive, or nobody knows: other words tell the customer that a human takes over.

        When those do not arrive either, the customer has not been told, and the books say so.
        """
        line = self._house.prompts(self._account).line("handoff", script_language(burst_text(conversation.messages)))
        texts = split_text(line, **limit_for(conversation.contact.channel))
        if PartState.SENT in states or [part.text for part in plan.parts] == texts:
            return await self._close(Outcome.UNDELIVERABLE, reason, conversation, plan, states)
        meta = PlanMeta(
            Outcome.HANDED_OVER.value,
            reason,
            stage=plan.meta.stage,
            rule=reason,
            # Should this line not get out at once, the model must not answer anew: its words may have arrived.
            after_unknown=PartState.UNKNOWN in states,
        )
        planned, conversation = await self._lease.plan(conversation, texts, meta, whatever_changed=True)
        if planned == "nothing" or conversation.plan is None:  # every message was taken back meanwhile
            return await self._begin_anew()
        return await self.deliver(conversation, conversation.plan)

    async def _close(
        self,
        outcome: Outcome,
        why: str,
        conversation: Conversation,
        plan: Plan,
        states: list[PartState],
        *,
        rule: str = "",
    ) -> str:
        fields = fields_of_turn(conversation, plan.keys, "", self._house.settings.config.limits)
        return await close(self._lease, conversation, plan, states, outcome, why, rule=rule, fields=fields)

    async def _finish(
        self, conversation: Conversation, plan: Plan, states: list[PartState], enclosed: Sequence[PartState] = ()
    ) -> str:
        meta = plan.meta
        outcome = Outcome(meta.outcome)
        cut = any(state is not PartState.SENT for state in states)
        fields = {"opted_out": "1" if meta.opts_out else "0", "notebook": meta.notebook}
        fields |= fields_of_turn(conversation, plan.keys, meta.rule, self._house.settings.config.limits)
        if meta.stage:
            fields["stage"] = meta.stage
        if meta.discloses and not cut:  # cut by a human's words: what comes after them discloses again
            fields["disclosed"] = "1"
        await self._lease.finish(
            outcome,
            plan.keys,
            why="cut" if cut else meta.why,
            lines=history_lines(conversation, plan, states, enclosed),
            fields=fields,
            incident=_incident_of(conversation, meta),
            takeover_seconds=self._house.settings.shift_of(self._account).takeover_minutes * 60
            if meta.calls_human
            else 0,
        )
        return f"{outcome.value} ({meta.why})" if meta.why else outcome.value

    async def _tell_about_account(self, conversation: Conversation, reason: str) -> None:
        channel, account_id = self._account.channel.value, self._account.id
        alert = Alert(f"account_{reason}", channel=channel, account=account_id, first_at=conversation.now_ms)
        await self._house.outbox.raise_alert(f"account:{channel}:{account_id}:{reason}", alert)


def _incident_of(conversation: Conversation, meta: PlanMeta) -> Incident | None:
    """A handover is told, and so is what the bot promised: a promise that nobody hears of is a lie."""
    if meta.outcome == Outcome.HANDED_OVER:
        return incident(conversation, meta.rule, told=True)
    if meta.rule == "salvaged":
        return incident(conversation, "salvaged")
    if meta.task and meta.task != "NONE":
        return incident(conversation, f"task_{meta.task.lower()}")
    return None


def _all_arrived(states: Sequence[PartState]) -> bool:
    return all(state is PartState.SENT for state in states)
