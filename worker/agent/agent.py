"""The agent: asks the model, runs its tools, climbs the ladder, and comes back with checked words or with the reason
why there are none. It never raises for what a model does."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.agent.agent_step import FinalStep, prepare_agent_step
from bot.agent.hints import LOOK_UP_NOW
from bot.agent.ladder import Ask, Attempt, GiveUp, Rung, keeps_time_back, next_move
from bot.agent.repairs import Repair, repair_for
from bot.agent.scratchpad import read_notebook
from bot.agent.transcript import Transcript
from bot.conversation import Conversation
from bot.model_output import CallFault, Completion, ModelCallFailed, ToolCall
from bot.reply.validation import ReplyContext, judge
from bot.verdict import Verdict
from clients.llm.client import Deadlines, LLMClient, ModelRequest
from runtime.config import CustomerLimits
from runtime.files.prompts import PromptSet
from runtime.logging import get_logger
from runtime.settings import Model
from store.spending import Spending
from worker.agent.agent_result import Spoken, notebook_of, thought_of
from worker.agent.agent_run import Budget, Climb, Thought
from worker.agent.attempts import AttemptRecord, usage_of_failure
from worker.agent.cost_cap import Prices, Purse
from worker.agent.failed_attempts import learn_from_answer, learn_from_failure
from worker.agent.lookup import look_up
from worker.agent.model_requests import deadlines_of, is_plain, kick_of, make_request
from worker.agent.spans import invoke_agent
from worker.agent.tools import ToolBox, ToolResult

__all__ = ["Agent", "Budget", "Thought"]

log = get_logger(__name__)

REPEATED_CALLS = 3  # the same call with the same arguments this often forces the last step
UNKNOWN_TOOLS = 2


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
        spending: Spending | None = None,
        prices: Prices | None = None,
        limits: CustomerLimits | None = None,
    ) -> None:
        self._llm = llm
        self._model = model
        self._ladder = tuple(ladder)
        self._prompts = prompts
        self._tools = tools
        self._tool_names = tuple(spec["function"]["name"] for spec in tools.specs)
        self._clock = clock
        self._limits = limits or CustomerLimits(cost_per_customer_day=0)
        self._purse = Purse(model, prices=prices or Prices(), spending=spending, limits=self._limits)
        self._may_salvage = any(rung.salvage for rung in self._ladder)

    async def think(
        self,
        conversation: Conversation,
        *,
        system: str,
        budget: Budget,
        on_found: Callable[[str], None] = lambda _: None,
    ) -> Thought:
        """Answer the open messages of `conversation`, within the budget, whatever the model does.

        `on_found` is told the notebook each time something was found or begun: a cancelled turn returns nothing.
        """
        earlier = read_notebook(conversation.notebook, now_ms=conversation.now_ms)
        transcript = Transcript(
            conversation.history, conversation.messages, found_earlier=earlier, most_chars=self._limits.burst_chars
        )
        with invoke_agent(conversation_id=conversation.id, model=self._model.name) as span:
            thought = await self._think(Climb(conversation, transcript, system, budget, on_found, span))
            span.conclude(rule=thought.rule, partial=thought.partial, answered=thought.reply is not None)
        return thought

    async def _think(self, climb: Climb) -> Thought:
        await self._purse.open(climb)
        attempts: list[Attempt] = []
        move = self._next(climb, attempts)
        while isinstance(move, Ask):
            if move.wait_seconds:
                await asyncio.sleep(move.wait_seconds)
            result = await self._attempt(climb, move)
            if isinstance(result, Spoken):
                return thought_of(climb, result, rescued=bool(attempts))
            attempts.append(result)
            move = self._next(climb, attempts)
        return Thought(
            None,
            move.rule,
            False,
            tuple(climb.records),
            notebook=notebook_of(climb),
            reasonings=tuple(climb.reasonings),
        )

    def _next(self, climb: Climb, attempts: Sequence[Attempt]) -> Ask | GiveUp:
        if rule := self._purse.too_dear(climb):
            return GiveUp(rule)
        return next_move(
            attempts,
            self._ladder,
            seconds_left=climb.budget.left(self._clock()),
            shortest_call_seconds=climb.budget.shortest_call,
            fallback_seconds=climb.budget.for_fallback,
            salvageable=bool(climb.candidate),
        )

    async def _attempt(self, climb: Climb, ask: Ask) -> Spoken | Attempt:
        """One rung: steps with tools until the model speaks, fails, or has to."""
        rung = self._ladder[ask.rung]
        if ask.repair is Repair.TRIM:
            climb.transcript.trim()
        elif rung.flatten or ask.flatten or ask.bare or ask.repair is Repair.FLATTEN:
            climb.transcript.flatten()
        takes_tools = self._llm.takes_tools(rung.model)
        if not takes_tools:
            climb.transcript.flatten()
            await look_up(climb, self._tools)
        while True:
            final = self._prepare(climb, ask)
            request = self._llm.fit(
                make_request(
                    climb,
                    rung,
                    ask,
                    final,
                    model=self._model,
                    prompts=self._prompts,
                    tools=self._tools,
                    takes_tools=takes_tools,
                )
            )
            try:
                completion = await self._llm.complete(request, self._deadlines(climb, ask, final))
            except ModelCallFailed as failure:
                usage = self._purse.priced(usage_of_failure(request, failure), model_asked=request.model)
                await self._purse.pay(climb, usage.cost)
                climb.note(AttemptRecord.of_failure(request, failure, usage, rung.name, climb.step, self._prompts.hash))
                log.warning("model_call_failed", fault=failure.fault, status=failure.status, rung=rung.name)
                learn_from_failure(climb, failure, rung.name)
                climb.on_found(notebook_of(climb))
                if failure.fault is CallFault.DEADLINE and climb.step > 0 and final is None:
                    climb.forced = True  # the time for searching is up; that for the last step was kept back
                    continue
                return self._failed(climb, ask, request, failure, final)
            usage = self._purse.priced(completion.usage, model_asked=request.model)
            completion = replace(completion, usage=usage)
            await self._purse.pay(climb, usage.cost)
            if completion.tool_calls and rung.tools and not ask.bare and final is None:
                climb.note(AttemptRecord.of_tool_step(request, completion, rung.name, climb.step, self._prompts.hash))
                await self._run_tools(climb, completion)
                if ask.repair is Repair.FLATTEN:
                    climb.transcript.flatten()  # what was refused once would be refused again
                if rule := self._purse.too_dear(climb):
                    return Attempt(ask.rung, rule)
                continue
            judgement = judge(completion, self._context(climb, rung, ask, final, request))
            climb.note(
                AttemptRecord.of_judgement(request, completion, judgement, rung.name, climb.step, self._prompts.hash)
            )
            if judgement.verdict is Verdict.SUCCESS:
                return Spoken(judgement, rung, partial=final is not None)
            log.warning(
                "reply_unusable", verdict=judgement.verdict, rule=judgement.rule, rung=rung.name, step=climb.step
            )
            learn_from_answer(
                climb,
                request,
                completion,
                judgement,
                rung.name,
                tools=self._tool_names,
                may_salvage=self._may_salvage,
            )
            climb.on_found(notebook_of(climb))
            return Attempt(
                ask.rung,
                judgement.rule,
                judgement.verdict,
                repeated=ask.repeated,
                mended=ask.repair,
                # Without a last step before it, an announced lookup can still be made.
                hint=LOOK_UP_NOW if judgement.rule == "announced_tool" and final is None else judgement.hint,
                last_step=final is not None,
                bare=ask.bare,
            )

    def _failed(
        self, climb: Climb, ask: Ask, request: ModelRequest, failure: ModelCallFailed, final: FinalStep | None
    ) -> Attempt:
        repair = Repair(failure.repair) or repair_for(
            failure.fault,
            failure.detail,
            has_tool_steps=climb.transcript.has_tool_steps,
            is_plain=is_plain(request),
        )
        return Attempt(
            ask.rung,
            failure.fault.value,
            fault=failure.fault,
            retry_after_seconds=failure.retry_after_seconds,
            repeated=ask.repeated,
            repair=repair,
            mended=ask.repair,
            hint=ask.hint,
            last_step=final is not None,
            bare=ask.bare,
        )

    def _prepare(self, climb: Climb, ask: Ask) -> FinalStep | None:
        left = climb.budget.left(self._clock()) - self._kept_back(climb, ask)
        least = climb.budget.for_last_step + climb.budget.shortest_call
        final = prepare_agent_step(
            climb.step,
            max_steps=self._model.max_steps,
            system_prompt=climb.system,
            instruction=self._prompts.final_step,
            # Only a turn that has used tools can be told to stop; a first answer simply gets what time there is.
            out_of_time=climb.forced or ask.bare or (climb.step > 0 and left < least),
        )
        climb.forced = climb.forced or final is not None  # what comes after a last step is one too
        return final

    def _kept_back(self, climb: Climb, ask: Ask) -> float:
        return climb.budget.for_fallback if keeps_time_back(self._ladder, ask.rung) else 0.0

    def _deadlines(self, climb: Climb, ask: Ask, final: FinalStep | None) -> Deadlines:
        kept_back = self._kept_back(climb, ask)
        if climb.step > 0 and final is None:
            kept_back += climb.budget.for_last_step
        elif not kept_back and ask.rung + 1 < len(self._ladder) and not self._ladder[ask.rung + 1].salvage:
            kept_back = climb.budget.left(self._clock()) / 2  # a further model waits above
        return deadlines_of(climb.budget, now=self._clock(), kept_back=kept_back)

    def _context(
        self, climb: Climb, rung: Rung, ask: Ask, final: FinalStep | None, request: ModelRequest
    ) -> ReplyContext:
        return ReplyContext(
            customer_text=climb.transcript.burst,
            system_prompt=str(request.messages[0]["content"]),
            kick=kick_of(rung, ask, self._prompts),
            last_step=final is not None or not rung.tools,
            tools_offered=bool(request.tools),
            previous_stage=climb.conversation.stage or "CONSULT",
            tool_names=self._tool_names,
            quotable=self._prompts.quotable,
        )

    async def _run_tools(self, climb: Climb, completion: Completion) -> None:
        """All calls of one step at once; a broken or repeated call is met with words, never with silence."""
        calls = [
            call if call.id else replace(call, id=f"call_{climb.step}_{index}")
            for index, call in enumerate(completion.tool_calls)
        ]
        results = await asyncio.gather(*(self._run_tool(climb, call) for call in calls))
        climb.transcript.add_tool_step(completion.raw_message, calls, [result.text for result in results])
        climb.generous = climb.generous or completion.finish_reason == "length"
        for call in calls:
            signature = (call.name, call.arguments.strip())
            climb.calls[signature] = climb.calls.get(signature, 0) + 1
            climb.forced = climb.forced or climb.calls[signature] >= REPEATED_CALLS
            climb.unknown_tools += call.name not in self._tool_names
        climb.forced = climb.forced or climb.unknown_tools >= UNKNOWN_TOOLS
        climb.step += 1
        climb.on_found(notebook_of(climb))

    async def _run_tool(self, climb: Climb, call: ToolCall) -> ToolResult:
        with climb.span.tool(call.name if call.name in self._tool_names else "unknown"):
            return await self._tools.call(call)
