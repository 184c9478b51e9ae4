"""A turn: all that is done for one conversation that is due. It reads like a list; each decision is a pure function."""

from dataclasses import replace

from bot.conversation import Conversation, HistoryLine, Plan, PlanMeta
from bot.delivery import WindowClosed, may_write
from bot.language import script_language
from bot.outcome import Outcome, SilenceReason
from bot.shift import Deferred, who_is_on_duty
from bot.splitting import limit_for, split_text
from bot.transcript import burst_text
from bot.wishes import Wish, wish_of
from runtime.clock import local
from runtime.conversations import Lease
from runtime.logging import get_logger
from runtime.settings import Account
from worker.agent import Budget, Thought
from worker.delivering import Delivery
from worker.house import House
from worker.incidents import incident
from worker.lease_keeper import keep_lease
from worker.typing_indicator import typing

log = get_logger(__name__)

MAX_RESTARTS = 2  # a customer who keeps writing is answered all the same
FAILED_TURNS_BEFORE_HANDOVER = 3


class Turn:
    def __init__(self, house: House, lease: Lease, conversation: Conversation) -> None:
        self._house = house
        self._lease = lease
        self._conversation = conversation
        config = house.settings.config
        seconds = config.turn.budget_seconds
        self._budget = Budget(seconds, house.monotonic() + seconds)

    async def run(self) -> str:
        """The word for how it ended: an outcome, or why it waits. Raises `LeaseLost` when somebody else decides."""
        conversation = self._conversation
        account = self._house.settings.account(conversation.contact.channel, conversation.contact.account_id)
        if account is None:
            return await self._finish_unsaid(Outcome.UNDELIVERABLE, "account_removed")
        delivery = Delivery(self._house, self._lease, account)
        if conversation.plan and not _thrown_away(conversation.plan, conversation):
            return await delivery.deliver(conversation, conversation.plan)
        for restart in range(MAX_RESTARTS + 1):
            if waits := await self._must_not_answer_now(conversation, account):
                return waits
            words, meta = await self._words(conversation, account)
            parts = split_text(words, **limit_for(conversation.contact.channel))
            planned = await self._lease.plan(conversation, parts, meta, whatever_came=restart == MAX_RESTARTS)
            if planned == "nothing":  # the customer took every message back
                await self._lease.finish(Outcome.SILENCED, [])
                return "nothing"
            conversation = await self._lease.reread()
            if planned == "planned" and conversation.plan:
                return await delivery.deliver(conversation, conversation.plan)
            log.info("turn_starts_again", conversation=conversation.id, restart=restart + 1)
        raise AssertionError("the last restart plans whatever came")

    async def _must_not_answer_now(self, conversation: Conversation, account: Account) -> str:
        """Before any model is paid: who is on duty, is the window open, does the account rest?"""
        config, now_ms = self._house.settings.config, conversation.now_ms
        zone = config.business.timezone
        duty = who_is_on_duty(
            config.shift.mode,
            hours=config.shift.hours,
            now=local(now_ms, zone),
            oldest_open_at=local(conversation.oldest_received_ms, zone),
            humans_first_minutes=config.shift.humans_first_minutes,
        )
        if isinstance(duty, Deferred):
            wait = duty.at.timestamp() - now_ms / 1000
            await self._lease.hold(max(wait, 0.0), duty.reason, drop_plan=True)
            return f"waits: {duty.reason}"
        if conversation.opted_out and wish_of([m.text for m in conversation.messages]) is Wish.OPT_OUT:
            return await self._finish_unsaid(Outcome.SILENCED, SilenceReason.OPTED_OUT, alert=False)
        if isinstance(may_write(last_action_at_ms=conversation.newest_at_ms, now_ms=now_ms), WindowClosed):
            return await self._finish_unsaid(Outcome.EXPIRED, "window_closed")
        if parked := await self._house.parking.look(account):
            await self._lease.hold(parked.seconds_left + 0.5, "parked", drop_plan=True)
            return f"waits: {parked.reason}"
        return ""

    async def _words(self, conversation: Conversation, account: Account) -> tuple[str, PlanMeta]:
        """What the customer will read, never blank: the model's checked reply, or a line of our own."""
        customer_text = burst_text(conversation.messages)
        locale = script_language(customer_text)
        prompts = self._house.prompts
        if conversation.failures >= FAILED_TURNS_BEFORE_HANDOVER:
            return prompts.line("stub", locale), PlanMeta(
                Outcome.HANDED_OVER.value, "turns_failed", rule="turns_failed"
            )
        wish = wish_of([message.text for message in conversation.messages])
        if wish is Wish.HUMAN:
            meta = PlanMeta(Outcome.HANDED_OVER.value, "asked_for_human", rule="asked_for_human", calls_human=True)
            return prompts.line("call_human", locale), meta
        if wish is Wish.OPT_OUT:
            return prompts.line("opt_out", locale), PlanMeta(Outcome.ANSWERED.value, "opted_out", opts_out=True)
        if all(message.needs_text for message in conversation.messages):
            meta = PlanMeta(Outcome.ANSWERED.value, "needs_text", stage=conversation.stage, rule="needs_text")
            return prompts.line("unsupported_media", locale), meta
        async with typing(self._house.graph(account), conversation.contact.customer_id):
            thought = await self._think(conversation)
        if thought.reply is None:
            meta = PlanMeta(Outcome.HANDED_OVER.value, thought.rule, stage=conversation.stage, rule=thought.rule)
            words = prompts.line("stub", locale)
        else:
            meta = PlanMeta(
                Outcome.ANSWERED.value,
                "partial" if thought.partial else "",
                stage=thought.reply.stage,
                task=thought.reply.task,
                partial=thought.partial,
                rule=thought.rule,
            )
            words = thought.reply.text
        await self._house.telemetry.store(conversation.id, meta.outcome, thought.attempts)
        if self._house.settings.config.business.disclosure and not conversation.disclosed:
            return f"{prompts.line('disclosure', locale)}\n\n{words}", replace(meta, discloses=True)
        return words, meta

    async def _think(self, conversation: Conversation) -> Thought:
        business = self._house.settings.config.business
        system = self._house.prompts.system(
            stage=conversation.stage or "NEW",
            now_local=local(conversation.now_ms, business.timezone).strftime("%A %Y-%m-%d, about %H:00"),
            business_name=business.name,
            timezone=business.timezone,
            lead_fields=self._house.settings.config.leads.fields,
        )
        return await self._house.agent.think(conversation, system=system, budget=self._budget)

    async def _finish_unsaid(self, outcome: Outcome, rule: str, *, alert: bool = True) -> str:
        """Nothing can (or may) be said to this customer: the managers are told instead."""
        conversation = self._conversation
        await self._lease.finish(
            outcome,
            [message.key for message in conversation.messages],
            why=rule,
            lines=[HistoryLine("customer", message.for_model, message.at_ms) for message in conversation.messages],
            incident=incident(conversation, rule) if alert else None,
        )
        return outcome.value


def _thrown_away(plan: Plan, conversation: Conversation) -> bool:
    """A plan of which nothing can have arrived gives way to newer messages, and a stub to another try."""
    if plan.something_arrived:
        return False
    waiting = {message.key for message in conversation.messages} - set(plan.keys)
    return bool(waiting) or plan.meta.outcome == Outcome.HANDED_OVER


async def take_turn(house: House, conversation_id: str) -> str:
    """Claim, run the turn under a lease that is renewed, and give it back whatever happens."""
    claimed = await house.conversations.claim(conversation_id)
    if isinstance(claimed, str):
        return claimed
    lease, conversation = claimed
    async with house.gate.enter(alone=conversation.vanished >= 10):
        return await keep_lease(house, lease, conversation, Turn(house, lease, conversation).run)
