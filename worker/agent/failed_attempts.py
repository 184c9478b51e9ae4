"""What an attempt that gave no reply leaves behind: a provider to avoid, an unfinished draft, its raw thoughts."""

from collections.abc import Sequence

from bot.model_output import Completion, ModelCallFailed
from bot.reply.degeneration import is_garbled, is_looping
from bot.reply.hygiene import clean
from bot.reply.salvage import salvage_candidate
from bot.reply.validation import Judgement
from clients.llm.client import ModelRequest
from worker.agent.agent_run import Climb
from worker.agent.attempts import Reasoning

UNFINISHED = frozenset({"stream_cut", "length_cut"})  # rules under which the text is a beginning, not a leak


def learn_from_failure(climb: Climb, failure: ModelCallFailed, rung: str) -> None:
    climb.draft = _draft(failure.partial_text) or climb.draft
    if failure.partial_reasoning.strip():
        rule = failure.fault.value
        climb.reasonings.append(Reasoning.of(failure.partial_reasoning, rung, climb.step, rule))


def learn_from_answer(
    climb: Climb,
    request: ModelRequest,
    completion: Completion,
    judgement: Judgement,
    rung: str,
    *,
    tools: Sequence[str],
    may_salvage: bool,
) -> None:
    if completion.provider:
        climb.avoided.append(completion.provider)
    if judgement.rule in UNFINISHED:
        climb.draft = _draft(judgement.reply.text if judgement.reply else completion.content) or climb.draft
    if not completion.reasoning.strip():
        return
    climb.reasonings.append(Reasoning.of(completion.reasoning, rung, climb.step, judgement.rule))
    if may_salvage:
        candidate = salvage_candidate(
            completion,
            thinking_off=request.thinking == "off",
            customer_text=climb.transcript.burst,
            system_prompt=climb.system,
            known="\n".join(climb.transcript.found),
            tools=tuple(tools),
        )
        climb.candidate = candidate or climb.candidate


def _draft(text: str) -> str:
    """What is worth going on from; "" for the beginning of nonsense."""
    draft = clean(text).text
    return "" if is_looping(draft) or is_garbled(draft) else draft
