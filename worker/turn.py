"""A turn: all that is done for one conversation that is due. It reads like a list; each decision is a pure function."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from bot.arranging import arrange
from bot.buttons import SEPARATOR
from bot.conversation import Conversation, HistoryLine, Plan, PlanMeta
from bot.delivery import WindowClosed
from bot.elements import NOTHING, Beside, pack_links
from bot.language import script_language
from bot.limits import Silent, TooMuch
from bot.outcome import Deferral, Outcome, SilenceReason
from bot.shift import Deferred, OnDuty, who_is_on_duty
from bot.wishes import Wish, wish_of
from runtime.clock import local
from runtime.conversations import Lease
from runtime.logging import get_logger
from runtime.pacing import Place
from runtime.parking import LOOK_AGAIN_SECONDS
from runtime.settings import Account
from worker.agent import Budget, Thought
from worker.delivering import Delivery
from worker.house import House
from worker.incidents import incident, window_closing
from worker.lease_keeper import keep_lease
from worker.limits import limit_of, words_for_model
from worker.looking_back import look_back
from worker.typing_indicator import typing
from worker.window import window_of

log = get_logger(__name__)

MAX_RESTARTS = 2  # a customer who keeps writing is answered all the same
FAILED_TURNS_BEFORE_HANDOVER = 3
VANISHED_BEFORE_ALONE = 10


class Turn:
    def __init__(self, house: House, lease: Lease, conversation: Conversation) -> None:
        self._house = house
        self._lease = lease
        self._conversation = conversation
        self._record = ""  # of the telemetry
        config = house.settings.config
        seconds = config.turn.budget_seconds
        self._budget = Budget(seconds, house.monotonic() + seconds)

    async def run(self) -> str:
        """The word for how it ended: an outcome, or why it waits. Raises `LeaseLost` when somebody else decides."""
        conversation = self._conversation
        account = self._house.settings.account(conversation.contact.channel, conversation.contact.account_id)
        if account is None:
            return await self._finish_unsaid(Outcome.UNDELIVERABLE, "account_removed", conversation)
        delivery = Delivery(self._house, self._lease, account)
        if conversation.plan and conversation.failures >= FAILED_TURNS_BEFORE_HANDOVER:
            return await delivery.give_up(conversation, conversation.plan)
        if conversation.plan and not _thrown_away(conversation.plan, conversation):
            return await delivery.deliver(conversation, conversation.plan)
        for restart in range(MAX_RESTARTS + 1):
            if waits := await self._must_not_answer_now(conversation, account):
                return waits
            looks_back = restart == 0 and self._house.settings.shift_of(account).look_back
            if looks_back and await look_back(self._house.reading, conversation, account):
                seen = await self._lease.reread()  # the lease is lost, if a human's words were among them
                conversation = seen if seen.messages else conversation
            words, meta, beside = await self._words(conversation, account)
            reply = arrange(
                words,
                beside,
                channel=conversation.contact.channel,
                has_buttons=bool(meta.buttons),
                mid=conversation.messages[-1].mid,
            )
            planned, fresh = await self._lease.plan(
                conversation,
                reply.texts,
                replace(meta, links=pack_links(reply.links)),
                enclosures=reply.enclosures,
                whatever_came=restart == MAX_RESTARTS,
            )
            if planned != "planned":
                await self._house.telemetry.superseded(self._record, conversation)
            if planned == "nothing":  # the customer took every message back
                await self._lease.finish(Outcome.SILENCED, [])
                return "nothing"
            conversation = self._house.media.remembered(fresh)
            if planned == "planned" and conversation.plan:
                word = await delivery.deliver(conversation, conversation.plan)
                if not word.startswith("waits"):
                    await self._house.telemetry.delivered(self._record, conversation, at_ms=self._house.now_ms())
                return word
            log.info("turn_starts_again", conversation=conversation.id, restart=restart + 1)
        raise AssertionError("the last restart plans whatever came")

    async def _must_not_answer_now(self, conversation: Conversation, account: Account) -> str:
        """Before any model is paid: is the window open, who is on duty, does the account rest?"""
        if conversation.opted_out and wish_of([m.text for m in conversation.messages]) is Wish.OPT_OUT:
            return await self._finish_unsaid(Outcome.SILENCED, SilenceReason.OPTED_OUT, conversation, alert=False)
        window = await window_of(self._house, conversation, now_ms=conversation.now_ms)
        if isinstance(window, WindowClosed):
            return await self._finish_unsaid(Outcome.EXPIRED, "window_closed", conversation)
        duty = self._who_is_on_duty(conversation, account)
        if isinstance(duty, Deferred):
            seconds = max(duty.at.timestamp() - conversation.now_ms / 1000, 0.0)
            return await self._wait(conversation, seconds, duty.reason, duty.reason)
        if conversation.parked:
            seconds = min(conversation.parked_ms / 1000, LOOK_AGAIN_SECONDS) + 0.5
            return await self._wait(conversation, seconds, "parked", conversation.parked)
        if isinstance(limit_of(conversation, self._house.settings.config.limits), Silent):
            return await self._finish_unsaid(Outcome.SILENCED, SilenceReason.FLOOD, conversation, alert=False)
        return ""

    def _who_is_on_duty(self, conversation: Conversation, account: Account) -> OnDuty | Deferred:
        shift, zone = self._house.settings.shift_of(account), self._house.settings.config.business.timezone
        if conversation.takeover_until_ms > conversation.now_ms:  # looked at early, for the window's sake
            return Deferred(local(conversation.takeover_until_ms, zone), Deferral.HUMAN)
        return who_is_on_duty(
            shift.mode,
            hours=shift.hours,
            now=local(conversation.now_ms, zone),
            oldest_open_at=local(conversation.oldest_received_ms, zone),
            humans_first_minutes=shift.humans_first_minutes,
        )

    async def _wait(self, conversation: Conversation, seconds: float, hold_reason: str, reason: str) -> str:
        closing = window_closing(conversation)
        await self._lease.hold(seconds, hold_reason, drop_plan=True, window_closing=closing)
        return f"waits: {reason}"

    async def _words(self, conversation: Conversation, account: Account) -> tuple[str, PlanMeta, Beside]:
        """What the customer will read, never blank: the model's checked reply, or a line of our own."""
        beside = NOTHING
        customer_text = words_for_model(conversation, self._house.settings.config.limits)
        locale = script_language(customer_text)
        prompts = self._house.prompts(account)
        if conversation.failures >= FAILED_TURNS_BEFORE_HANDOVER:
            meta = PlanMeta(Outcome.HANDED_OVER.value, "turns_failed", rule="turns_failed")
            return prompts.line("stub", locale), meta, beside
        wish = wish_of([message.text for message in conversation.messages])
        if wish is Wish.HUMAN:
            meta = PlanMeta(Outcome.HANDED_OVER.value, "asked_for_human", rule="asked_for_human", calls_human=True)
            return prompts.line("call_human", locale), meta, beside
        if wish is Wish.OPT_OUT:
            meta = PlanMeta(Outcome.ANSWERED.value, "opted_out", opts_out=True)
            return prompts.line("opt_out", locale), meta, beside
        limit = limit_of(conversation, self._house.settings.config.limits)
        if isinstance(limit, TooMuch):
            meta = PlanMeta(Outcome.HANDED_OVER.value, limit.rule, stage=conversation.stage, rule=limit.rule)
            return prompts.line("handoff", locale), meta, beside
        if all(message.needs_text for message in conversation.messages):
            meta = PlanMeta(Outcome.ANSWERED.value, "needs_text", stage=conversation.stage, rule="needs_text")
            words = prompts.line("unsupported_media", locale)
        else:
            started = self._house.monotonic()
            async with self._typing(account, conversation):
                conversation = await self._house.media.read(conversation, seconds=self._budget.for_media)
                customer_text = words_for_model(conversation, self._house.settings.config.limits)
                thought = await self._think(conversation, account)
            words, meta = _words_of(thought, conversation, stub=prompts.line("stub", locale))
            beside = thought.reply.beside if thought.reply else beside
            seconds = self._house.monotonic() - started
            self._record = await self._house.telemetry.store(
                conversation, meta, thought, customer_text=customer_text, seconds=seconds
            )
        if self._house.settings.config.business.disclosure and not conversation.disclosed:
            return f"{prompts.line('disclosure', locale)}\n\n{words}", replace(meta, discloses=True), beside
        return words, meta, beside

    def _typing(self, account: Account, conversation: Conversation) -> AbstractAsyncContextManager[None]:
        async def may_call() -> bool:
            place = await self._house.pacing.take(account, "send", patience_seconds=0)
            return isinstance(place, Place) and place.taken

        seen = self._house.settings.config.business.mark_seen
        return typing(self._house.graph(account), conversation.contact.customer_id, seen=seen, may_call=may_call)

    async def _think(self, conversation: Conversation, account: Account) -> Thought:
        business = self._house.settings.config.business
        system = self._house.prompts(account).system(
            stage=conversation.stage or "NEW",
            now_local=local(conversation.now_ms, business.timezone).strftime("%A %Y-%m-%d, about %H:00"),
            business_name=business.name,
            timezone=business.timezone,
            lead_fields=self._house.settings.config.leads.fields,
        )
        # A turn that starts again, or whose process stops, does not pay twice for what it has looked up.
        noted = replace(conversation, notebook=self._lease.notebook or conversation.notebook)
        agent = self._house.agent(account)
        return await agent.think(noted, system=system, budget=self._budget, on_found=self._note)

    def _note(self, notebook: str) -> None:
        self._lease.notebook = notebook

    async def _finish_unsaid(
        self, outcome: Outcome, rule: str, conversation: Conversation, *, alert: bool = True
    ) -> str:
        """Nothing can (or may) be said to this customer: the managers are told instead."""
        await self._lease.finish(
            outcome,
            [message.key for message in conversation.messages],
            why=rule,
            lines=[HistoryLine("customer", message.for_model, message.at_ms) for message in conversation.messages],
            incident=incident(conversation, rule) if alert else None,
        )
        return outcome.value


def _words_of(thought: Thought, conversation: Conversation, *, stub: str) -> tuple[str, PlanMeta]:
    """The checked reply, or the stub with the reason why there is none."""
    if thought.reply is None:
        rule = thought.rule
        stage, notebook = conversation.stage, thought.notebook
        return stub, PlanMeta(Outcome.HANDED_OVER.value, rule, stage=stage, rule=rule, notebook=notebook)
    meta = PlanMeta(
        Outcome.ANSWERED.value,
        "partial" if thought.partial else "",
        stage=thought.reply.stage,
        task=thought.reply.task,
        partial=thought.partial,
        rule="salvaged" if thought.salvaged else thought.rule,
        notebook=thought.notebook,
        buttons=SEPARATOR.join(thought.reply.buttons),
    )
    return thought.reply.text, meta


def _thrown_away(plan: Plan, conversation: Conversation) -> bool:
    """A plan of which nothing can have arrived gives way to newer messages, and a stub to another try."""
    if plan.something_arrived or plan.meta.after_unknown:
        return False
    waiting = {message.key for message in conversation.messages} - set(plan.keys)
    return bool(waiting) or plan.meta.outcome == Outcome.HANDED_OVER


async def take_turn(house: House, conversation_id: str) -> str:
    """Claim, run the turn under a lease that is renewed, and give it back whatever happens."""
    claimed = await house.conversations.claim(conversation_id)
    if isinstance(claimed, str):
        return claimed
    lease, conversation = claimed

    async def turn() -> str:
        # Within the lease: whoever waits for a turn that runs alone must not lose theirs.
        async with house.gate.enter(alone=conversation.vanished >= VANISHED_BEFORE_ALONE):
            return await Turn(house, lease, conversation).run()

    return await keep_lease(house, lease, conversation, turn)
