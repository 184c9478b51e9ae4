"""What a turn would say: the checked reply of a model, or a line of our own."""

from dataclasses import dataclass

from bot.conversation import Conversation, PlanMeta
from bot.outcome import Outcome
from bot.reply.quick_replies import SEPARATOR
from bot.reply.rich_content import RichContent
from worker.agent.agent_run import Thought


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


def words_of(thought: Thought, conversation: Conversation, *, stub: str) -> tuple[str, PlanMeta]:
    """The checked reply, or the stub with the reason why there is none."""
    if thought.reply is None:
        rule = thought.rule
        stage, notebook = conversation.stage, thought.notebook
        return stub, PlanMeta(Outcome.HANDED_OVER.value, rule, stage=stage, rule=rule, notebook=notebook)
    meta = PlanMeta(
        Outcome.ANSWERED.value,
        "partial" if thought.partial else "",
        stage=thought.reply.stage,
        task=thought.reply.task,
        partial=thought.partial,
        rule="salvaged" if thought.salvaged else thought.rule,
        notebook=thought.notebook,
        buttons=SEPARATOR.join(thought.reply.buttons),
    )
    return thought.reply.text, meta
