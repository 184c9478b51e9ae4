"""What the customer will read, never blank: the model's checked reply, or a line of our own."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from bot.conversation import Conversation, PlanMeta
from bot.incoming.intents import Intent, intent_of
from bot.limits import TooMuch
from bot.outcome import Outcome
from bot.reply.rich_content import NO_RICH_CONTENT
from bot.text.language import script_language
from runtime.clock import local
from runtime.config import Config
from runtime.files.prompts import PromptSet
from worker.agent.agent import Agent, AgentResult, Budget
from worker.agent.media import MediaReader
from worker.agent.telemetry import Telemetry
from worker.delivery.drafts import Draft, words_of
from worker.delivery.waiting import TurnScratchpad
from worker.limits import limit_of, words_for_model

FAILED_TURNS_BEFORE_HANDOVER = 3


class DraftWriter:
    """For one turn. `typing` shows a customer that something is being written; `monotonic` is in seconds."""

    def __init__(
        self,
        config: Config,
        *,
        prompts: PromptSet,
        find_agent: Callable[[], Agent],
        media: MediaReader,
        telemetry: Telemetry,
        typing: Callable[[str], AbstractAsyncContextManager[None]],
        scratchpad: TurnScratchpad,
        monotonic: Callable[[], float],
    ) -> None:
        self._config = config
        self._prompts = prompts
        self._find_agent = find_agent
        self._media = media
        self._telemetry = telemetry
        self._typing = typing
        self._scratchpad = scratchpad
        self._monotonic = monotonic

    async def draft(self, conversation: Conversation, budget: Budget) -> Draft:
        limits = self._config.limits
        locale = script_language(words_for_model(conversation, limits))

        def line(name: str, meta: PlanMeta) -> Draft:
            return Draft(conversation, self._prompts.line(name, locale), meta, NO_RICH_CONTENT)

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
            draft = await self._by_the_model(conversation, budget, stub=self._prompts.line("stub", locale))
        if self._config.business.disclosure and not conversation.disclosed:
            words = f"{self._prompts.line('disclosure', locale)}\n\n{draft.words}"
            return replace(draft, words=words, meta=replace(draft.meta, discloses=True))
        return draft

    async def _by_the_model(self, conversation: Conversation, budget: Budget, *, stub: str) -> Draft:
        started = self._monotonic()
        async with self._typing(conversation.contact.customer_id):
            told = await self._media.read(conversation, seconds=budget.for_media)
            result = await self._ask_agent(told, budget)
        words, meta = words_of(result, conversation, stub=stub)
        seconds = self._monotonic() - started
        customer_text = words_for_model(told, self._config.limits)
        record = await self._telemetry.store(told, meta, result, customer_text=customer_text, seconds=seconds)
        rich_content = result.reply.rich_content if result.reply else NO_RICH_CONTENT
        return Draft(conversation, words, meta, rich_content, is_thought=True, record=record)

    async def _ask_agent(self, conversation: Conversation, budget: Budget) -> AgentResult:
        business = self._config.business
        system = self._prompts.system(
            stage=conversation.stage or "NEW",
            now_local=local(conversation.now_ms, business.timezone).strftime("%A %Y-%m-%d, about %H:00"),
            business_name=business.name,
            timezone=business.timezone,
            lead_fields=self._config.leads.fields,
        )

        def note(text: str) -> None:
            self._scratchpad.note(text, revised=conversation.revised)

        # A turn that starts again, or whose process stops, does not pay twice for what it has looked up.
        noted = replace(conversation, scratchpad=self._scratchpad.read(conversation))
        return await self._find_agent().run(noted, system=system, budget=budget, on_found=note)
