"""A turn's climb: its budget, what it carries from rung to rung, and the thought it comes back with."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.agent.transcript import Transcript
from bot.conversation import Conversation
from bot.reply.tags import TaggedReply
from worker.agent.attempts import AttemptRecord, Reasoning
from worker.agent.spans import AgentSpan


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds of one turn, and how they are shared out. `ends_at` is on the loop's clock."""

    total: float
    ends_at: float

    @property
    def for_sending(self) -> float:
        return min(5.0, self.total / 10)

    @property
    def for_fallback(self) -> float:
        return self.total / 4

    @property
    def for_last_step(self) -> float:
        return self.total / 4

    @property
    def for_media(self) -> float:
        return self.total / 4

    @property
    def shortest_call(self) -> float:
        return min(3.0, self.total / 20)

    def left(self, now: float) -> float:
        return self.ends_at - self.for_sending - now


@dataclass(frozen=True, slots=True)
class Thought:
    """What came of it: `reply` is None when only the stub is left, and `rule` then says why.

    `partial`: the answer was given at the forced last step, from what had been gathered by then. `rescued_by` names
    the rung that spoke after another had failed. `salvaged`: it was rewritten from a draft in the thoughts.
    `notebook` is what the next turn needs in order to go on from here, "" when nothing is left to do. `reasonings`
    are the raw thoughts of failed attempts: for the sealed store alone.
    """

    reply: TaggedReply | None
    rule: str
    partial: bool
    attempts: tuple[AttemptRecord, ...]
    rescued_by: str = ""
    salvaged: bool = False
    notebook: str = ""
    reasonings: tuple[Reasoning, ...] = ()


@dataclass(slots=True)
class Climb:
    """What one turn's climb carries from rung to rung. `on_found` hears of every change of the notebook."""

    conversation: Conversation
    transcript: Transcript
    system: str
    budget: Budget
    on_found: Callable[[str], None]
    span: AgentSpan
    step: int = 0
    forced: bool = False
    looked_up: bool = False  # for a model that cannot call tools
    generous: bool = False  # tool arguments were cut off by the length limit: more room from here on
    draft: str = ""
    candidate: str = ""
    cost: float = 0.0
    spent_today: float = 0.0
    avoided: list[str] = field(default_factory=list)
    calls: dict[tuple[str, str], int] = field(default_factory=dict)
    unknown_tools: int = 0
    records: list[AttemptRecord] = field(default_factory=list)
    reasonings: list[Reasoning] = field(default_factory=list)

    def note(self, record: AttemptRecord) -> None:
        self.records.append(record)
        self.span.chat(record)
