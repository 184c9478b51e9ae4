"""The agent: asks the model, runs its tools, goes up the ladder, and comes back with a checked reply or with the reason
why there is none. It never raises for what a model does.

Each attempt is one rung of the ladder: steps with tools (`tool_steps`) until the model answers, fails, or has to answer
without them. `model_requests` makes a step, `failed_attempts` says what is kept of one that failed, `bot.agent.ladder`
which rung is next.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.agent.ladder import Ask, Attempt, GiveUp, Rung, next_move
from bot.agent.repairs import Repair
from bot.agent.scratchpad import read_scratchpad
from bot.agent.transcript import Transcript
from bot.conversation import Conversation
from bot.model_output import CallFault, Completion, ModelCallFailed
from bot.reply.validation import judge
from bot.verdict import Verdict
from clients.llm.client import LLMClient
from runtime.config import CustomerLimits
from runtime.files.prompts import PromptSet
from runtime.logging import get_logger
from runtime.settings import Model
from store.spending import Spending
from worker.agent.agent_result import Accepted, AgentResult, no_reply, result_of
from worker.agent.agent_run import AgentRun, Budget
from worker.agent.attempts import AttemptRecord, usage_of_failure
from worker.agent.cost_cap import CostCap, Prices
from worker.agent.failed_attempts import failed_call, keep_of_failed_call, keep_of_unusable_answer, unusable_answer
from worker.agent.model_requests import ModelRequests, Step
from worker.agent.spans import invoke_agent
from worker.agent.tool_steps import run_tools
from worker.agent.tools import ToolBox

__all__ = ["Agent", "AgentResult", "Budget"]

log = get_logger(__name__)


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
        self._clock = clock
        self._limits = limits or CustomerLimits(cost_per_customer_day=0)
        self._requests = ModelRequests(llm, model=model, ladder=self._ladder, prompts=prompts, tools=tools, clock=clock)
        self._cost_cap = CostCap(model, prices=prices or Prices(), spending=spending, limits=self._limits)
        self._may_salvage = any(rung.salvage for rung in self._ladder)

    async def run(
        self,
        conversation: Conversation,
        *,
        system: str,
        budget: Budget,
        on_found: Callable[[str], None] = lambda _: None,
    ) -> AgentResult:
        """Answer the open messages of `conversation`, within the budget, whatever the model does.

        `on_found` is given the scratchpad each time something was found or begun: a cancelled run returns nothing.
        """
        earlier = read_scratchpad(conversation.scratchpad, now_ms=conversation.now_ms)
        transcript = Transcript(
            conversation.history, conversation.messages, found_earlier=earlier, most_chars=self._limits.burst_chars
        )
        with invoke_agent(conversation_id=conversation.id, model=self._model.name) as span:
            result = await self._run(AgentRun(conversation, transcript, system, budget, on_found, span))
            span.conclude(rule=result.rule, partial=result.partial, answered=result.reply is not None)
        return result

    async def _run(self, run: AgentRun) -> AgentResult:
        await self._cost_cap.load(run)
        attempts: list[Attempt] = []
        move = self._next(run, attempts)
        while isinstance(move, Ask):
            if move.wait_seconds:
                await asyncio.sleep(move.wait_seconds)
            came = await self._attempt(run, move)
            if isinstance(came, Accepted):
                return result_of(run, came, rescued=bool(attempts))
            attempts.append(came)
            move = self._next(run, attempts)
        return no_reply(run, move.rule)

    def _next(self, run: AgentRun, attempts: Sequence[Attempt]) -> Ask | GiveUp:
        if rule := self._cost_cap.reached_by(run):
            return GiveUp(rule)
        return next_move(
            attempts,
            self._ladder,
            seconds_left=run.budget.left(self._clock()),
            shortest_call_seconds=run.budget.shortest_call,
            fallback_seconds=run.budget.for_fallback,
            salvageable=bool(run.salvageable),
        )

    async def _attempt(self, run: AgentRun, ask: Ask) -> Accepted | Attempt:
        """One rung: steps with tools until the model answers, fails, or has to answer without them."""
        takes_tools = await self._requests.begin(run, ask)
        while True:
            step = self._requests.step(run, ask, takes_tools=takes_tools)
            try:
                completion = await self._llm.complete(step.request, step.deadlines)
            except ModelCallFailed as failure:
                await self._pay_for_failure(run, step, failure)
                keep_of_failed_call(run, step, failure)
                if failure.fault is CallFault.DEADLINE and run.step > 0 and not step.is_last:
                    run.must_answer = True  # the time for searching is up; that for the last step was kept back
                    continue
                return failed_call(run, step, failure)
            completion = await self._pay(run, step, completion)
            if not completion.tool_calls or not step.may_call_tools:
                return self._judge(run, step, completion)
            record = AttemptRecord.of_tool_step(step.request, completion, step.rung.name, run.step, self._prompts.hash)
            run.record(record)
            await run_tools(run, self._tools, completion)
            if ask.repair is Repair.FLATTEN:
                run.transcript.flatten()  # what was refused once would be refused again
            if rule := self._cost_cap.reached_by(run):
                return Attempt(ask.rung, rule)

    def _judge(self, run: AgentRun, step: Step, completion: Completion) -> Accepted | Attempt:
        judgement = judge(completion, step.context)
        rung = step.rung.name
        run.record(AttemptRecord.of_judgement(step.request, completion, judgement, rung, run.step, self._prompts.hash))
        if judgement.verdict is Verdict.SUCCESS:
            return Accepted(judgement, step.rung, partial=step.is_last)
        log.warning("reply_unusable", verdict=judgement.verdict, rule=judgement.rule, rung=rung, step=run.step)
        keep_of_unusable_answer(
            run, step, completion, judgement, tools=self._tools.names, may_salvage=self._may_salvage
        )
        return unusable_answer(step, judgement)

    async def _pay(self, run: AgentRun, step: Step, completion: Completion) -> Completion:
        """The completion with its price, which is paid."""
        usage = self._cost_cap.priced(completion.usage, model_asked=step.request.model)
        await self._cost_cap.pay(run, usage.cost)
        return replace(completion, usage=usage)

    async def _pay_for_failure(self, run: AgentRun, step: Step, failure: ModelCallFailed) -> None:
        request, rung = step.request, step.rung.name
        usage = self._cost_cap.priced(usage_of_failure(request, failure), model_asked=request.model)
        await self._cost_cap.pay(run, usage.cost)
        run.record(AttemptRecord.of_failure(request, failure, usage, rung, run.step, self._prompts.hash))
        log.warning("model_call_failed", fault=failure.fault, status=failure.status, rung=rung)
