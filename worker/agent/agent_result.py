"""What a run of the agent comes back with: a checked reply, or the reason why there is none."""

from dataclasses import dataclass, replace

from bot.agent.ladder import Rung
from bot.agent.scratchpad import results_of
from bot.reply.rich_content import keep_grounded
from bot.reply.tags import TaggedReply
from bot.reply.validation import Judgement
from runtime.logging import get_logger
from worker.agent.agent_run import AgentRun
from worker.agent.attempts import AttemptRecord, Reasoning

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AgentResult:
    """`reply` is None when only the stub is left, and `rule` then says why.

    `partial`: the answer was given at the forced last step, from what had been gathered by then. `rescued_by` names
    the rung that answered after another had failed. `salvaged`: it was rewritten from a draft in the reasoning.
    `scratchpad` is what the next turn needs in order to go on from here, "" when nothing is left to do. `reasonings`
    are the raw reasoning of failed attempts: for the sealed store alone.
    """

    reply: TaggedReply | None
    rule: str
    partial: bool
    attempts: tuple[AttemptRecord, ...]
    rescued_by: str = ""
    salvaged: bool = False
    scratchpad: str = ""
    reasonings: tuple[Reasoning, ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that passed every check, and the rung that gave it."""

    judgement: Judgement
    rung: Rung
    partial: bool


def result_of(run: AgentRun, accepted: Accepted, *, rescued: bool) -> AgentResult:
    return AgentResult(
        _grounded(run, accepted.judgement.reply),
        accepted.judgement.rule,
        accepted.partial,
        tuple(run.records),
        rescued_by=accepted.rung.name if rescued else "",
        salvaged=accepted.rung.salvage,
        scratchpad=run.scratchpad() if accepted.partial else "",
        reasonings=tuple(run.reasonings),
    )


def no_reply(run: AgentRun, rule: str) -> AgentResult:
    return AgentResult(
        None, rule, False, tuple(run.records), scratchpad=run.scratchpad(), reasonings=tuple(run.reasonings)
    )


def _grounded(run: AgentRun, reply: TaggedReply | None) -> TaggedReply | None:
    """The reply with those links, pictures and files alone whose addresses the model did not make up.

    What the bot has said before proves nothing: a customer may have dictated it, or a model made it up in plain words.
    """
    if reply is None or not reply.rich_content:
        return reply
    said = [line.text for line in run.conversation.history if line.role == "business"]
    rich_content = keep_grounded(reply.rich_content, [run.system, *results_of(run.transcript.found), *said])
    if rich_content != reply.rich_content:
        log.warning("addresses_not_known", conversation=run.conversation.id)
    return replace(reply, rich_content=rich_content)
