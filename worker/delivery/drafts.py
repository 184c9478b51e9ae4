"""What a turn would say: the checked reply of a model, or a line of our own."""

from dataclasses import dataclass

from bot.conversation import Conversation, PlanMeta
from bot.outcome import Outcome
from bot.reply.rich_content import RichContent
from worker.agent.agent_result import AgentResult


@dataclass(frozen=True, slots=True)
class Draft:
    """What would be said, and to what: `conversation` as it was read for it.

    `is_thought`: by a model, with a `record` in the telemetry; else it is a line of our own.
    """

    conversation: Conversation
    words: str
    meta: PlanMeta
    rich_content: RichContent
    is_thought: bool = False
    record: str = ""

    @property
    def is_answer(self) -> bool:
        return self.is_thought and self.meta.outcome == Outcome.ANSWERED

    @property
    def is_stub(self) -> bool:
        return self.is_thought and self.meta.outcome == Outcome.HANDED_OVER


def words_of(result: AgentResult, conversation: Conversation, *, stub: str) -> tuple[str, PlanMeta]:
    """The checked reply, or the stub with the reason why there is none."""
    if result.reply is None:
        rule = result.rule
        stage, scratchpad = conversation.stage, result.scratchpad
        return stub, PlanMeta(Outcome.HANDED_OVER.value, rule, stage=stage, rule=rule, scratchpad=scratchpad)
    meta = PlanMeta(
        Outcome.ANSWERED.value,
        "partial" if result.partial else "",
        stage=result.reply.stage,
        task=result.reply.task,
        partial=result.partial,
        rule="salvaged" if result.salvaged else result.rule,
        scratchpad=result.scratchpad,
        quick_replies=result.reply.buttons,
    )
    return result.reply.text, meta
