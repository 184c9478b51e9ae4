"""The agent: asks the model, runs its tools, climbs the ladder, and comes back with checked words or with the reason
why there are none. It never raises for what a model does."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.agent_step import FinalStep, prepare_agent_step
from bot.conversation import Conversation
from bot.ladder import Ask, Attempt, Kick, Rung, next_move
from bot.model_output import Completion, ModelCallFailed
from bot.tags import TaggedReply
from bot.transcript import Transcript, burst_text
from bot.validation import Judgement, ReplyContext, Verdict, judge
from clients.llm import Deadlines, LLMClient, ModelRequest
from runtime.logging import get_logger
from runtime.settings import Model
from worker.prompt_files import PromptSet
from worker.telemetry import AttemptRecord
from worker.tools import ToolBox

log = get_logger(__name__)

REPEATED_CALLS = 3  # the same call with the same arguments this often forces the last step
UNKNOWN_TOOLS = 2


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds of one turn, and how they are shared out. `ends_at` is on the loop's clock."""

    total: float
    ends_at: float

    @property
    def for_sending(self) -> float:
        return min(5.0, self.total / 10)

    @property
    def for_fallback(self) -> float:
        return self.total / 4

    @property
    def for_last_step(self) -> float:
        return self.total / 4

    @property
    def shortest_call(self) -> float:
        return min(3.0, self.total / 20)

    def left(self, now: float) -> float:
        return self.ends_at - self.for_sending - now


@dataclass(frozen=True, slots=True)
class Thought:
    """What came of it: `reply` is None when only the stub is left, and `rule` then says why.

    `partial`: the answer was given at the forced last step, from what had been gathered by then.
    """

    reply: TaggedReply | None
    rule: str
    partial: bool
    attempts: tuple[AttemptRecord, ...]


@dataclass(slots=True)
class _Climb:
    """What one turn's climb carries from rung to rung."""

    conversation: Conversation
    transcript: Transcript
    system: str
    budget: Budget
    step: int = 0
    forced: bool = False
    avoided: list[str] = field(default_factory=list)
    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    unknown_tools: int = 0
    records: list[AttemptRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Spoken:
    judgement: Judgement
    partial: bool


class Agent:
    def __init__(
        self,
        llm: LLMClient,
        *,
        model: Model,
        ladder: Sequence[Rung],
        prompts: PromptSet,
        tools: ToolBox,
        clock: Callable[[], float],
    ) -> None:
        self._llm = llm
        self._model = model
        self._ladder = tuple(ladder)
        self._prompts = prompts
        self._tools = tools
        self._tool_names = tuple(spec["function"]["name"] for spec in tools.specs)
        self._clock = clock

    async def think(self, conversation: Conversation, *, system: str, budget: Budget) -> Thought:
        """Answer the open messages of `conversation`, within the budget, whatever the model does."""
        climb = _Climb(conversation, Transcript(conversation.history, conversation.messages), system, budget)
        attempts: list[Attempt] = []
        move = self._next(attempts, budget)
        while isinstance(move, Ask):
            if move.wait_seconds:
                await asyncio.sleep(move.wait_seconds)
            result = await self._attempt(climb, move)
            if isinstance(result, _Spoken):
                return Thought(result.judgement.reply, result.judgement.rule, result.partial, tuple(climb.records))
            attempts.append(result)
            move = self._next(attempts, budget)
        return Thought(None, move.rule, False, tuple(climb.records))

    def _next(self, attempts: Sequence[Attempt], budget: Budget) -> Any:
        return next_move(
            attempts,
            self._ladder,
            seconds_left=budget.left(self._clock()),
            shortest_call_seconds=budget.shortest_call,
            fallback_seconds=budget.for_fallback,
        )

    async def _attempt(self, climb: _Climb, ask: Ask) -> _Spoken | Attempt:
        """One rung: steps with tools until the model speaks, fails, or has to."""
        rung = self._ladder[ask.rung]
        if rung.flatten or ask.flatten:
            climb.transcript.flatten()
        while True:
            final = self._prepare(climb, rung)
            request = self._request(climb, rung, ask, final)
            try:
                completion = await self._llm.complete(request, self._deadlines(climb.budget, rung))
            except ModelCallFailed as failure:
                climb.records.append(
                    AttemptRecord.of_failure(request, failure, rung.name, climb.step, self._prompts.hash)
                )
                log.warning("model_call_failed", fault=failure.fault, status=failure.status, rung=rung.name)
                return self._failed(ask, failure)
            if completion.tool_calls and rung.tools and final is None:
                climb.records.append(
                    AttemptRecord.of_tool_step(request, completion, rung.name, climb.step, self._prompts.hash)
                )
                await self._run_tools(climb, completion)
                continue
            judgement = judge(completion, self._context(climb, rung, final, request))
            climb.records.append(
                AttemptRecord.of_judgement(request, completion, judgement, rung.name, climb.step, self._prompts.hash)
            )
            if judgement.verdict is Verdict.SUCCESS:
                return _Spoken(judgement, partial=final is not None)
            log.warning(
                "reply_unusable", verdict=judgement.verdict, rule=judgement.rule, rung=rung.name, step=climb.step
            )
            if completion.provider:
                climb.avoided.append(completion.provider)
            return Attempt(ask.rung, judgement.rule, judgement.verdict, repeated=ask.repeated, repaired=ask.repaired)

    def _failed(self, ask: Ask, failure: ModelCallFailed) -> Attempt:
        return Attempt(
            ask.rung,
            failure.fault.value,
            fault=failure.fault,
            retry_after_seconds=failure.retry_after_seconds,
            repeated=ask.repeated,
            repaired=ask.repaired,
        )

    def _prepare(self, climb: _Climb, rung: Rung) -> FinalStep | None:
        reserve = 0.0 if rung.is_fallback else climb.budget.for_fallback
        left = climb.budget.left(self._clock()) - reserve
        return prepare_agent_step(
            climb.step,
            max_steps=self._model.max_steps,
            system_prompt=climb.system,
            instruction=self._prompts.final_step,
            # Only a turn that has used tools can be told to stop; a first answer simply gets what time there is.
            out_of_time=climb.forced or (climb.step > 0 and left < climb.budget.for_last_step),
        )

    def _request(self, climb: _Climb, rung: Rung, ask: Ask, final: FinalStep | None) -> ModelRequest:
        system, note = (final.system_prompt, final.trailing_note) if final else (climb.system, "")
        if rung.kick is Kick.SYSTEM:
            system = f"{system}\n\n{self._prompts.kick(1)}"
        elif rung.kick is Kick.USER:
            note = f"{note}\n\n{self._prompts.kick(2)}".strip()
        offered = rung.tools or climb.transcript.has_tool_steps
        provider: dict[str, Any] = {"data_collection": self._model.data_collection}
        if ask.other_provider and climb.avoided:
            provider["ignore"] = sorted(set(climb.avoided))
        thinking = rung.thinking
        if thinking == "default" and self._model.effort:
            thinking = self._model.effort
        return ModelRequest(
            model=rung.model,
            messages=climb.transcript.messages(system, note=note),
            tools=self._tools.specs if offered else (),
            tool_choice="none" if offered and (final or not rung.tools) else None,
            max_tokens=self._model.max_tokens * (2 if ask.more_tokens else 1),
            temperature=self._model.temperature,
            thinking=thinking,
            provider=provider,
            # A sticky provider is what another provider must not be asked by.
            session_id=None if ask.other_provider else climb.conversation.id,
            user=climb.conversation.id,
        )

    def _deadlines(self, budget: Budget, rung: Rung) -> Deadlines:
        reserve = 0.0 if rung.is_fallback else budget.for_fallback
        total = max(budget.left(self._clock()) - reserve, budget.shortest_call)
        return Deadlines(
            first_byte_seconds=min(0.35 * budget.total, total),
            idle_seconds=min(0.25 * budget.total, total),
            total_seconds=total,
            thinking_seconds=min(0.45 * budget.total, total),
        )

    def _context(self, climb: _Climb, rung: Rung, final: FinalStep | None, request: ModelRequest) -> ReplyContext:
        kick = {Kick.SYSTEM: 1, Kick.USER: 2}.get(rung.kick)
        return ReplyContext(
            customer_text=burst_text(climb.conversation.messages),
            system_prompt=str(request.messages[0]["content"]),
            kick=self._prompts.kick(kick) if kick else "",
            last_step=final is not None or not rung.tools,
            tools_offered=bool(request.tools),
            previous_stage=climb.conversation.stage or "CONSULT",
            tool_names=self._tool_names,
            quotable=self._prompts.quotable,
        )

    async def _run_tools(self, climb: _Climb, completion: Completion) -> None:
        """All calls of one step at once; a broken or repeated call is met with words, never with silence."""
        calls = [
            call if call.id else replace(call, id=f"call_{climb.step}_{index}")
            for index, call in enumerate(completion.tool_calls)
        ]
        results = await asyncio.gather(*(self._tools.call(call) for call in calls))
        climb.transcript.add_tool_step(completion.raw_message, calls, [result.text for result in results])
        for call in calls:
            signature = (call.name, call.arguments.strip())
            climb.calls[signature] = climb.calls.get(signature, 0) + 1
            climb.forced = climb.forced or climb.calls[signature] >= REPEATED_CALLS
            climb.unknown_tools += call.name not in self._tool_names
        climb.forced = climb.forced or climb.unknown_tools >= UNKNOWN_TOOLS
        climb.step += 1
