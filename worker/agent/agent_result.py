"""What a climb that found words, or none, comes back with."""

from dataclasses import dataclass, replace

from bot.agent.ladder import Rung
from bot.agent.scratchpad import results_of, write_notebook
from bot.reply.rich_content import keep_grounded
from bot.reply.tags import TaggedReply
from bot.reply.validation import Judgement
from runtime.logging import get_logger
from worker.agent.agent_run import Climb, Thought

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Spoken:
    judgement: Judgement
    rung: Rung
    partial: bool


def thought_of(climb: Climb, spoken: Spoken, *, rescued: bool) -> Thought:
    return Thought(
        _grounded(climb, spoken.judgement.reply),
        spoken.judgement.rule,
        spoken.partial,
        tuple(climb.records),
        rescued_by=spoken.rung.name if rescued else "",
        salvaged=spoken.rung.salvage,
        notebook=notebook_of(climb) if spoken.partial else "",
        reasonings=tuple(climb.reasonings),
    )


def _grounded(climb: Climb, reply: TaggedReply | None) -> TaggedReply | None:
    """The reply with those links, pictures and files alone whose addresses the model did not make up.

    What the bot has said before proves nothing: a customer may have dictated it, or a model made it up in plain words.
    """
    if reply is None or not reply.rich_content:
        return reply
    said = [line.text for line in climb.conversation.history if line.role == "business"]
    rich_content = keep_grounded(reply.rich_content, [climb.system, *results_of(climb.transcript.found), *said])
    if rich_content != reply.rich_content:
        log.warning("addresses_not_known", conversation=climb.conversation.id)
    return replace(reply, rich_content=rich_content)


def notebook_of(climb: Climb) -> str:
    return write_notebook(climb.transcript.found, climb.draft, at_ms=climb.conversation.now_ms)
