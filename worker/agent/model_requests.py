"""Makes the request of one step: the rung, what the last failure asks to be changed, and the forced last step."""

from typing import Any

from bot.agent.agent_step import FinalStep
from bot.agent.hints import NO_TOOLS, kick_words
from bot.agent.ladder import Ask, Kick, Rung
from bot.agent.repairs import Repair
from bot.reply.salvage import rewrite_note
from clients.llm.client import Deadlines, ModelRequest
from runtime.files.prompts import PromptSet
from runtime.settings import Model
from worker.agent.agent_run import Budget, Climb
from worker.agent.tools import ToolBox


def kick_of(rung: Rung, ask: Ask, prompts: PromptSet) -> str:
    """The words that nudge, by the rung and by what the last answer lacked; "" for none."""
    number = {Kick.SYSTEM: 1, Kick.USER: 2}.get(rung.kick)
    return kick_words(prompts.kick(number) if number else "", ask.hint)


def make_request(
    climb: Climb,
    rung: Rung,
    ask: Ask,
    final: FinalStep | None,
    *,
    model: Model,
    prompts: PromptSet,
    tools: ToolBox,
    takes_tools: bool = True,
) -> ModelRequest:
    """`takes_tools`: False for a model whose server has refused them; it is told so."""
    system, note = (final.system_prompt, final.trailing_note) if final else (climb.system, "")
    if not takes_tools and tools.specs:
        system = f"{system}\n\n{NO_TOOLS}"
    kick = kick_of(rung, ask, prompts)
    if kick and rung.kick is not Kick.USER:
        system = f"{system}\n\n{kick}"
    elif kick:
        note = f"{note}\n\n{kick}".strip()
    if rung.salvage:
        note = rewrite_note(climb.candidate)
    may_call = rung.tools and not ask.bare and takes_tools
    offered = may_call or climb.transcript.has_tool_steps
    tool_choice = "none" if offered and (final or not may_call) else None
    return ModelRequest(
        model=rung.model,
        messages=climb.transcript.messages(system, note=note),
        tools=tools.specs if offered else (),
        tool_choice=None if ask.repair is Repair.PLAIN else tool_choice,
        max_tokens=_max_tokens(climb, rung, ask, final, model),
        temperature=None if ask.repair is Repair.PLAIN else model.temperature,
        thinking=_thinking(rung, ask, model),
        provider=_provider(climb, rung, ask, model),
        # A sticky provider is what another provider must not be asked by.
        session_id=None if ask.other_provider else climb.conversation.id,
        user=climb.conversation.id,
    )


def is_plain(request: ModelRequest) -> bool:
    """Whether it holds no wish that a router could fail to meet but the one for privacy, which is never dropped."""
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


def _max_tokens(climb: Climb, rung: Rung, ask: Ask, final: FinalStep | None, model: Model) -> int:
    tokens = rung.max_tokens or (model.last_step_max_tokens if final else model.max_tokens)
    if ask.more_tokens or climb.generous:
        tokens *= 2
    return tokens


def _thinking(rung: Rung, ask: Ask, model: Model) -> str:
    if ask.repair is Repair.PLAIN:
        return "default"
    if ask.bare and rung.thinking == "default":
        return "low"
    return model.effort if rung.thinking == "default" and model.effort else rung.thinking


def _provider(climb: Climb, rung: Rung, ask: Ask, model: Model) -> dict[str, Any]:
    privacy: dict[str, Any] = {"data_collection": model.data_collection}
    wishes = {**model.provider, **rung.provider}
    if ask.repair is Repair.PLAIN:
        return privacy | {key: wishes[key] for key in ("data_collection", "zdr") if key in wishes}
    ignored = {*wishes.get("ignore", ()), *(climb.avoided if ask.other_provider else ())}
    return privacy | wishes | ({"ignore": sorted(ignored)} if ignored else {})
