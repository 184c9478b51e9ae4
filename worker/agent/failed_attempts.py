"""An attempt that gave no reply: what the run keeps of it, and what the ladder is told of it."""

from collections.abc import Sequence

from bot.agent.hints import LOOK_UP_NOW
from bot.agent.ladder import Attempt
from bot.agent.repairs import Repair, repair_for
from bot.model_output import Completion, ModelCallFailed
from bot.reply.degeneration import is_garbled, is_looping
from bot.reply.hygiene import clean
from bot.reply.salvage import salvage_candidate
from bot.reply.validation import Judgement
from worker.agent.agent_run import AgentRun
from worker.agent.attempts import Reasoning
from worker.agent.model_requests import Step, is_plain

UNFINISHED = frozenset({"stream_cut", "length_cut"})  # rules under which the text is a beginning, not machine text


def keep_of_failed_call(run: AgentRun, step: Step, failure: ModelCallFailed) -> None:
    """The unfinished draft, and the reasoning."""
    run.draft = _draft(failure.partial_text) or run.draft
    if failure.partial_reasoning.strip():
        reasoning = Reasoning.of(failure.partial_reasoning, step.rung.name, run.step, failure.fault.value)
        run.reasonings.append(reasoning)
    run.found_something()


def failed_call(run: AgentRun, step: Step, failure: ModelCallFailed) -> Attempt:
    """A call that gave no completion, and the repair that would cure it."""
    repair = Repair(failure.repair) or repair_for(
        failure.fault,
        failure.detail,
        has_tool_steps=run.transcript.has_tool_steps,
        is_plain=is_plain(step.request),
    )
    return Attempt(
        step.ask.rung,
        failure.fault.value,
        fault=failure.fault,
        retry_after_seconds=failure.retry_after_seconds,
        repeated=step.ask.repeated,
        repair=repair,
        mended=step.ask.repair,
        hint=step.ask.hint,
        last_step=step.is_last,
        bare=step.ask.bare,
    )


def keep_of_unusable_answer(
    run: AgentRun,
    step: Step,
    completion: Completion,
    judgement: Judgement,
    *,
    tools: Sequence[str],
    may_salvage: bool,
) -> None:
    """The provider to avoid, the unfinished draft, the reasoning, and a reply in it if it may be salvaged."""
    if completion.provider:
        run.avoided_providers.append(completion.provider)
    if judgement.rule in UNFINISHED:
        run.draft = _draft(judgement.reply.text if judgement.reply else completion.content) or run.draft
    if completion.reasoning.strip():
        run.reasonings.append(Reasoning.of(completion.reasoning, step.rung.name, run.step, judgement.rule))
        if may_salvage:
            candidate = salvage_candidate(
                completion,
                thinking_off=step.request.thinking == "off",
                customer_text=run.transcript.burst,
                system_prompt=run.system,
                known="\n".join(run.transcript.found),
                tools=tuple(tools),
            )
            run.salvageable = candidate or run.salvageable
    run.found_something()


def unusable_answer(step: Step, judgement: Judgement) -> Attempt:
    """An answer that no customer may read."""
    # Without a last step before it, an announced lookup can still be made.
    may_look_up = judgement.rule == "announced_tool" and not step.is_last
    return Attempt(
        step.ask.rung,
        judgement.rule,
        judgement.verdict,
        repeated=step.ask.repeated,
        mended=step.ask.repair,
        hint=LOOK_UP_NOW if may_look_up else judgement.hint,
        last_step=step.is_last,
        bare=step.ask.bare,
    )


def _draft(text: str) -> str:
    """What is worth going on from; "" for the beginning of nonsense."""
    draft = clean(text).text
    return "" if is_looping(draft) or is_garbled(draft) else draft
