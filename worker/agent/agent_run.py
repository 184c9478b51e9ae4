"""One run of the agent: its budget, and what it carries from attempt to attempt."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.agent.scratchpad import write_scratchpad
from bot.agent.transcript import Transcript
from bot.conversation import Conversation
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


@dataclass(slots=True)
class AgentRun:
    """The state of one run. `on_found` is given the scratchpad each time it has changed."""

    conversation: Conversation
    transcript: Transcript
    system: str
    budget: Budget
    on_found: Callable[[str], None]
    span: AgentSpan
    step: int = 0  # requests that ended in tool calls so far
    must_answer: bool = False  # from here on each step is the last: no tools
    looked_up: bool = False  # for a model that cannot call tools
    needs_more_tokens: bool = False  # tool arguments were cut off by the length limit
    draft: str = ""  # the unfinished text of a failed attempt
    salvageable: str = ""  # a reply that stands in the reasoning of a failed attempt and passes every gate
    cost: float = 0.0  # US dollars
    spent_today: float = 0.0  # by all runs
    avoided_providers: list[str] = field(default_factory=list)
    calls: dict[tuple[str, str], int] = field(default_factory=dict)  # (tool, arguments) -> how often
    unknown_tools: int = 0
    records: list[AttemptRecord] = field(default_factory=list)
    reasonings: list[Reasoning] = field(default_factory=list)  # of failed attempts: for the sealed store alone

    def record(self, record: AttemptRecord) -> None:
        self.records.append(record)
        self.span.chat(record)

    def scratchpad(self) -> str:
        """What the next turn needs in order to go on from here; "" for nothing."""
        return write_scratchpad(self.transcript.found, self.draft, at_ms=self.conversation.now_ms)

    def found_something(self) -> None:
        self.on_found(self.scratchpad())
