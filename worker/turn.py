"""A turn: all that is done for one conversation that is due. It reads like a list; each decision is a pure function."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from bot.conversation import VANISHED_BEFORE_ALONE, Conversation, Plan, PlanMeta
from bot.incoming.intents import Intent, intent_of
from bot.limits import Silent, TooMuch
from bot.messaging_window import WindowClosed
from bot.outcome import Deferral, Outcome, SilenceReason
from bot.reply.layout import arrange
from bot.reply.rich_content import NO_RICH_CONTENT, pack_links
from bot.shift import Deferred, OnDuty, who_is_on_duty
from bot.text.language import script_language
from runtime.clock import local
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.pacing import Place
from store.accounts.parking import LOOK_AGAIN_SECONDS
from store.conversations import Lease
from store.views import ConversationUnreadable, View
from worker.agent.agent import Budget, Thought
from worker.backfill.missed_answers import look_back
from worker.delivery.closing import close_unsaid
from worker.delivery.delivery import Delivery
from worker.delivery.drafts import Draft, words_of
from worker.delivery.typing_indicator import typing
from worker.delivery.window import warning_of, window_of
from worker.last_resort import abandon, wait_for_account, wait_for_newer_version
from worker.lease_keeper import keep_lease
from worker.limits import limit_of, words_for_model
from worker.services import House

log = get_logger(__name__)

MAX_RESTARTS = 2  # a customer who keeps writing is answered all the same
FAILED_TURNS_BEFORE_HANDOVER = 3
# Three for the answer, three for telling that there is none, three for closing what could not be told.
FAILED_TURNS_BEFORE_THE_END = 9
STUB_STANDS_SECONDS = 300.0  # a stub that could not be sent for so long is old: the model may be well again
# A further thought takes as long as the last one, give or take; with less time than this it is not begun.
THOUGHT_MARGIN = 1.25


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
        conversation, plan = self._conversation, self._conversation.plan
        account = self._house.settings.account(conversation.contact.channel, conversation.contact.account_id)
        if account is None or not account.token.get_secret_value():
            return await wait_for_account(self._house, self._lease, conversation, is_known=account is not None)
        delivery = Delivery(self._house, self._lease, account)
        if plan and _stands(plan, conversation):
            if plan.is_damaged:
                return await delivery.give_up(conversation, plan, "plan_damaged")
            if conversation.failed_turns - plan.failures >= FAILED_TURNS_BEFORE_HANDOVER:
                return await delivery.give_up(conversation, plan, "turns_failed")
            return await delivery.deliver(conversation, plan)
        in_hand: Draft | None = None  # an answer that newer messages have overtaken
        for restart in range(MAX_RESTARTS + 1):
            if waits := await self._must_not_answer_now(conversation, account):
                return waits
            looks_back = restart == 0 and self._house.settings.shift_of(account).look_back
            if looks_back and await look_back(self._house.reading, conversation, account):
                seen = await self._lease.reread()  # the lease is lost, if a human's words were among them
                conversation = seen if seen.messages else conversation
            began = self._house.monotonic()
            draft = await self._draft(conversation, account)
            now = self._house.monotonic()
            is_last = restart == MAX_RESTARTS or self._budget.left(now) < (now - began) * THOUGHT_MARGIN
            if in_hand and draft.is_stub:  # the answer to what it has read is better than none to all of it
                draft, is_last = in_hand, True
            elif in_hand:
                await self._house.telemetry.superseded(in_hand.record, conversation)
            planned, fresh = await self._plan(draft, whatever_came=is_last)
            if planned == "planned" and fresh.plan:
                word = await delivery.deliver(self._house.media.remembered(fresh), fresh.plan)
                if not word.startswith("waits"):
                    await self._house.telemetry.delivered(draft.record, fresh, at_ms=self._house.now_ms())
                return word
            if planned == "arrived" and fresh.plan:  # an echo has proved what was given up for lost
                await self._house.telemetry.superseded(draft.record, conversation)
                return await delivery.deliver(fresh, fresh.plan)
            if planned == "nothing" or not fresh.messages:  # the customer took every message back
                await self._house.telemetry.superseded(draft.record, conversation)
                await self._lease.finish(Outcome.SILENCED, [])
                return "nothing"
            # What it was made from has changed, or there is time to think about what came: it is not said.
            in_hand = draft if draft.is_answer and fresh.revised == draft.conversation.revised else None
            if in_hand is None:
                await self._house.telemetry.superseded(draft.record, conversation)
            if is_last:
                break
            conversation = self._house.media.remembered(fresh)
            log.info("turn_starts_again", conversation=conversation.id, restart=restart + 1)
        # The customer has changed the words while there was no time left: they get a turn, and a budget, of their own.
        await self._lease.hold(0, "released")
        return "waits: changed"

    async def _plan(self, draft: Draft, *, whatever_came: bool) -> tuple[str, Conversation]:
        conversation = draft.conversation
        reply = arrange(
            draft.words,
            draft.rich_content,
            channel=conversation.contact.channel,
            has_buttons=bool(draft.meta.buttons),
            mid=conversation.messages[-1].mid,
        )
        return await self._lease.plan(
            conversation,
            reply.texts,
            replace(draft.meta, links=pack_links(reply.links)),
            enclosures=reply.enclosures,
            whatever_came=whatever_came,
        )

    async def _must_not_answer_now(self, conversation: Conversation, account: Account) -> str:
        """Before any model is paid: is the window open, who is on duty, does the account rest?"""
        if conversation.opted_out and intent_of([m.text for m in conversation.messages]) is Intent.OPT_OUT:
            return await close_unsaid(self._lease, conversation, Outcome.SILENCED, SilenceReason.OPTED_OUT, alert=False)
        window = await window_of(self._house, conversation, now_ms=conversation.now_ms)
        if isinstance(window, WindowClosed):
            return await close_unsaid(self._lease, conversation, Outcome.EXPIRED, "window_closed")
        duty = self._who_is_on_duty(conversation, account)
        if isinstance(duty, Deferred):
            seconds = max(duty.at.timestamp() - conversation.now_ms / 1000, 0.0)
            return await self._wait(conversation, seconds, duty.reason, duty.reason)
        if conversation.parked:
            seconds = min(conversation.parked_ms / 1000, LOOK_AGAIN_SECONDS) + 0.5
            return await self._wait(conversation, seconds, "parked", conversation.parked)
        if isinstance(limit_of(conversation, self._house.settings.config.limits), Silent):
            return await close_unsaid(self._lease, conversation, Outcome.SILENCED, SilenceReason.FLOOD, alert=False)
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
        closing = await warning_of(self._house, conversation)
        await self._lease.hold(seconds, hold_reason, drop_plan=True, window_closing=closing)
        return f"waits: {reason}"

    async def _draft(self, conversation: Conversation, account: Account) -> Draft:
        """What the customer will read, never blank: the model's checked reply, or a line of our own."""
        limits = self._house.settings.config.limits
        locale = script_language(words_for_model(conversation, limits))
        prompts = self._house.prompts(account)

        def line(name: str, meta: PlanMeta) -> Draft:
            return Draft(conversation, prompts.line(name, locale), meta, NO_RICH_CONTENT)

        handed_over = Outcome.HANDED_OVER.value
        if conversation.failed_turns >= FAILED_TURNS_BEFORE_HANDOVER:
            return line("stub", PlanMeta(handed_over, "turns_failed", rule="turns_failed"))
        if any(message.is_lost for message in conversation.messages):
            return line("stub", PlanMeta(handed_over, "message_lost", rule="message_lost"))
        intent = intent_of([message.text for message in conversation.messages])
        if intent is Intent.HUMAN:
            meta = PlanMeta(handed_over, "asked_for_human", rule="asked_for_human", calls_human=True)
            return line("call_human", meta)
        if intent is Intent.OPT_OUT:
            return line("opt_out", PlanMeta(Outcome.ANSWERED.value, "opted_out", opts_out=True))
        limit = limit_of(conversation, limits)
        if isinstance(limit, TooMuch):
            meta = PlanMeta(handed_over, limit.rule, stage=conversation.stage, rule=limit.rule)
            return line("handoff", meta)
        if all(message.needs_text for message in conversation.messages):
            meta = PlanMeta(Outcome.ANSWERED.value, "needs_text", stage=conversation.stage, rule="needs_text")
            draft = line("unsupported_media", meta)
        else:
            draft = await self._thought_draft(conversation, account, stub=prompts.line("stub", locale))
        if self._house.settings.config.business.disclosure and not conversation.disclosed:
            words = f"{prompts.line('disclosure', locale)}\n\n{draft.words}"
            return replace(draft, words=words, meta=replace(draft.meta, discloses=True))
        return draft

    async def _thought_draft(self, conversation: Conversation, account: Account, *, stub: str) -> Draft:
        started = self._house.monotonic()
        async with self._typing(account, conversation):
            told = await self._house.media.read(conversation, seconds=self._budget.for_media)
            thought = await self._think(told, account)
        words, meta = words_of(thought, conversation, stub=stub)
        seconds = self._house.monotonic() - started
        record = await self._house.telemetry.store(
            told,
            meta,
            thought,
            customer_text=words_for_model(told, self._house.settings.config.limits),
            seconds=seconds,
        )
        rich_content = thought.reply.rich_content if thought.reply else NO_RICH_CONTENT
        return Draft(conversation, words, meta, rich_content, is_thought=True, record=record)

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


async def take_turn(house: House, conversation_id: str) -> str:
    """Claim, run the turn under a lease that is renewed, and give it back whatever happens."""
    taken = await house.conversations.take(conversation_id)
    if isinstance(taken, str):
        return taken
    lease, view = taken

    async def turn() -> str:
        # Nothing is parsed before this: what cannot be read counts like any other failed turn.
        if view.failed_turns >= FAILED_TURNS_BEFORE_THE_END:
            return await abandon(house, lease, view, "turns_failed")
        try:
            conversation = view.read()
        except ConversationUnreadable:
            return await _get_on_without(house, lease, view)
        # Within the lease: whoever waits for a turn that runs alone must not lose theirs.
        async with house.gate.enter(alone=view.vanished >= VANISHED_BEFORE_ALONE):
            return await Turn(house, lease, conversation).run()

    return await keep_lease(house, lease, turn, failures=view.failures)


async def _get_on_without(house: House, lease: Lease, view: View) -> str:
    """Raise `ConversationUnreadable` as long as another try may help."""
    if view.failed_turns >= FAILED_TURNS_BEFORE_HANDOVER:
        return await abandon(house, lease, view, "unreadable")
    whose = view.whose()
    if whose.is_known:
        raise ConversationUnreadable("though it is known whose it is")
    return await wait_for_newer_version(house, lease, view, whose)
