"""What is known when a rehearsal is over: the judge reads this and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.outcome import Outcome
from cli.rehearsal.theatre import Performance, Post
from runtime.ledger import Step, Sums

OUTCOMES = frozenset(outcome.value for outcome in Outcome)


@dataclass(frozen=True, slots=True)
class Read:
    """Words that arrived at a customer; `at` in Unix seconds."""

    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """`alerts` are the texts that managers read; `limit_seconds` is the longest that a message may stay open."""

    performances: Sequence[Performance]
    steps: Mapping[str, Sequence[Step]]
    read: Mapping[str, Sequence[Read]]
    alerts: Sequence[str]
    sums: Sums
    limit_seconds: float
    received_before: int = 0
    unbalanced: Sequence[Sums] = ()
    leftovers: Mapping[str, str] = field(default_factory=dict)
    undelivered_alerts: int = 0

    def steps_of(self, performance: Performance, post: Post) -> list[Step]:
        return [step for step in self.steps.get(performance.conversation_id, ()) if step.key == post.key]

    def ends_of(self, performance: Performance, post: Post) -> list[Step]:
        return [step for step in self.steps_of(performance, post) if step.event in OUTCOMES]

    def read_by(self, performance: Performance) -> Sequence[Read]:
        return self.read.get(performance.person.customer_id, ())

    def waited_seconds(self, performance: Performance, post: Post) -> float | None:
        """From the moment it was stored to its outcome; None while it has none."""
        steps = self.steps_of(performance, post)
        received = [step.at_ms for step in steps if step.event == "received"]
        ends = [step.at_ms for step in steps if step.event in OUTCOMES]
        return (ends[0] - received[0]) / 1000 if received and ends else None
