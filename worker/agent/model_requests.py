"""Makes each request of a run: the rung, what the last failure asks to be changed, and the forced last step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent.agent_step import FinalStep, prepare_agent_step
from bot.agent.hints import NO_TOOLS, kick_words
from bot.agent.ladder import Ask, Kick, Rung, keeps_time_back
from bot.agent.repairs import Repair
from bot.reply.salvage import rewrite_note
from bot.reply.validation import ReplyContext
from clients.llm.client import Deadlines, LLMClient, ModelRequest
from runtime.files.prompts import PromptSet
from runtime.settings import Model
from worker.agent.agent_run import AgentRun, Budget
from worker.agent.tool_steps import look_up
from worker.agent.tools import ToolBox


@dataclass(frozen=True, slots=True)
class Step:
    """One request to a model, and what its answer is judged by. `is_last`: the run may use no more tools."""

    ask: Ask
    rung: Rung
    is_last: bool
    request: ModelRequest
    deadlines: Deadlines
    context: ReplyContext

    @property
    def may_call_tools(self) -> bool:
        return self.rung.tools and not self.ask.bare and not self.is_last


class ModelRequests:
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
        self._ladder = ladder
        self._prompts = prompts
        self._tools = tools
        self._clock = clock

    async def begin(self, run: AgentRun, ask: Ask) -> bool:
        """Bring the transcript into the form that this attempt needs. False for a model whose server takes no tools."""
        rung = self._ladder[ask.rung]
        if ask.repair is Repair.TRIM:
            run.transcript.trim()
        elif rung.flatten or ask.flatten or ask.bare or ask.repair is Repair.FLATTEN:
            run.transcript.flatten()
        takes_tools = self._llm.takes_tools(rung.model)
        if not takes_tools:
            run.transcript.flatten()
            await look_up(run, self._tools)
        return takes_tools

    def step(self, run: AgentRun, ask: Ask, *, takes_tools: bool) -> Step:
        """The next step of an attempt; whether it is the last, its number and the time decide."""
        rung = self._ladder[ask.rung]
        final = self._final_step(run, ask)
        request = self._llm.fit(self._request(run, rung, ask, final, takes_tools=takes_tools))
        context = ReplyContext(
            customer_text=run.transcript.burst,
            system_prompt=str(request.messages[0]["content"]),
            kick=self._kick(rung, ask),
            last_step=final is not None or not rung.tools,
            previous_stage=run.conversation.stage or "CONSULT",
            tool_names=self._tools.names,
            quotable=self._prompts.quotable,
        )
        is_last = final is not None
        return Step(ask, rung, is_last, request, self._deadlines(run, ask, is_last=is_last), context)

    def _final_step(self, run: AgentRun, ask: Ask) -> FinalStep | None:
        left = run.budget.left(self._clock()) - self._kept_back(run, ask)
        least = run.budget.for_last_step + run.budget.shortest_call
        final = prepare_agent_step(
            run.step,
            max_steps=self._model.max_steps,
            system_prompt=run.system,
            instruction=self._prompts.final_step,
            # Only a run that has used tools can be told to stop; a first answer simply gets what time there is.
            out_of_time=run.must_answer or ask.bare or (run.step > 0 and left < least),
        )
        run.must_answer = run.must_answer or final is not None  # what comes after a last step is one too
        return final

    def _kept_back(self, run: AgentRun, ask: Ask) -> float:
        return run.budget.for_fallback if keeps_time_back(self._ladder, ask.rung) else 0.0

    def _deadlines(self, run: AgentRun, ask: Ask, *, is_last: bool) -> Deadlines:
        kept_back = self._kept_back(run, ask)
        if run.step > 0 and not is_last:
            kept_back += run.budget.for_last_step
        elif not kept_back and ask.rung + 1 < len(self._ladder) and not self._ladder[ask.rung + 1].salvage:
            kept_back = run.budget.left(self._clock()) / 2  # a further model waits above
        return deadlines_of(run.budget, now=self._clock(), kept_back=kept_back)

    def _kick(self, rung: Rung, ask: Ask) -> str:
        """The words that nudge, by the rung and by what the last answer lacked; "" for none."""
        number = {Kick.SYSTEM: 1, Kick.USER: 2}.get(rung.kick)
        return kick_words(self._prompts.kick(number) if number else "", ask.hint)

    def _request(
        self, run: AgentRun, rung: Rung, ask: Ask, final: FinalStep | None, *, takes_tools: bool
    ) -> ModelRequest:
        system, note = (final.system_prompt, final.trailing_note) if final else (run.system, "")
        if not takes_tools and self._tools.specs:
            system = f"{system}\n\n{NO_TOOLS}"
        kick = self._kick(rung, ask)
        if kick and rung.kick is not Kick.USER:
            system = f"{system}\n\n{kick}"
        elif kick:
            note = f"{note}\n\n{kick}".strip()
        if rung.salvage:
            note = rewrite_note(run.salvageable)
        may_call = rung.tools and not ask.bare and takes_tools
        offered = may_call or run.transcript.has_tool_steps
        tool_choice = "none" if offered and (final or not may_call) else None
        is_plain = ask.repair is Repair.PLAIN
        return ModelRequest(
            model=rung.model,
            messages=run.transcript.messages(system, note=note),
            tools=self._tools.specs if offered else (),
            tool_choice=None if is_plain else tool_choice,
            max_tokens=self._max_tokens(run, rung, ask, final),
            temperature=None if is_plain else self._model.temperature,
            thinking=self._thinking(rung, ask),
            provider=self._provider(run, rung, ask),
            # A sticky provider is what another provider must not be asked by.
            session_id=None if ask.other_provider else run.conversation.id,
            user=run.conversation.id,
        )

    def _max_tokens(self, run: AgentRun, rung: Rung, ask: Ask, final: FinalStep | None) -> int:
        tokens = rung.max_tokens or (self._model.last_step_max_tokens if final else self._model.max_tokens)
        return tokens * 2 if ask.more_tokens or run.needs_more_tokens else tokens

    def _thinking(self, rung: Rung, ask: Ask) -> str:
        if ask.repair is Repair.PLAIN:
            return "default"
        if ask.bare and rung.thinking == "default":
            return "low"
        return self._model.effort if rung.thinking == "default" and self._model.effort else rung.thinking

    def _provider(self, run: AgentRun, rung: Rung, ask: Ask) -> dict[str, Any]:
        privacy: dict[str, Any] = {"data_collection": self._model.data_collection}
        preferences = {**self._model.provider, **rung.provider}
        if ask.repair is Repair.PLAIN:
            return privacy | {key: preferences[key] for key in ("data_collection", "zdr") if key in preferences}
        ignored = {*preferences.get("ignore", ()), *(run.avoided_providers if ask.other_provider else ())}
        return privacy | preferences | ({"ignore": sorted(ignored)} if ignored else {})


def is_plain(request: ModelRequest) -> bool:
    """Whether a router could fail to meet none of what it asks for but privacy, which is never dropped."""
    return (
        request.thinking == "default"
        and request.tool_choice is None
        and request.temperature is None
        and not request.provider.keys() - {"data_collection", "zdr"}
    )


def deadlines_of(budget: Budget, *, now: float, kept_back: float) -> Deadlines:
    """`kept_back` seconds are for what comes after this call."""
    total = max(budget.left(now) - kept_back, budget.shortest_call)
    return Deadlines(
        first_byte_seconds=min(0.35 * budget.total, total),
        idle_seconds=min(0.25 * budget.total, total),
        total_seconds=total,
        thinking_seconds=min(0.45 * budget.total, total),
    )
