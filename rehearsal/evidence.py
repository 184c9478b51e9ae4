"""What is known when a rehearsal is over: the checker reads this and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.outcome import Outcome
from rehearsal.customers import CustomerRun, Post
from store.ledger import Step, Sums

OUTCOMES = frozenset(outcome.value for outcome in Outcome)


@dataclass(frozen=True, slots=True)
class Read:
    """Words that arrived at a customer; `at` in Unix seconds."""

    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """`alerts` are the texts that managers read; `limit_seconds` is the longest that a message may stay open.

    `again_seconds` are added to the limit for each worker that died with the turn: its lease, and a turn anew.
    """

    customer_runs: Sequence[CustomerRun]
    steps: Mapping[str, Sequence[Step]]
    read: Mapping[str, Sequence[Read]]
    alerts: Sequence[str]
    sums: Sums
    limit_seconds: float
    again_seconds: float = 0.0
    received_before: int = 0
    unbalanced: Sequence[Sums] = ()
    leftovers: Mapping[str, str] = field(default_factory=dict)
    undelivered_alerts: int = 0

    def steps_of(self, customer: CustomerRun, post: Post) -> list[Step]:
        return [step for step in self.steps.get(customer.conversation_id, ()) if step.key == post.key]

    def ends_of(self, customer: CustomerRun, post: Post) -> list[Step]:
        return [step for step in self.steps_of(customer, post) if step.event in OUTCOMES]

    def read_by(self, customer: CustomerRun) -> Sequence[Read]:
        return self.read.get(customer.person.customer_id, ())

    def may_wait_seconds(self, customer: CustomerRun) -> float:
        vanished = sum(step.event == "vanished" for step in self.steps.get(customer.conversation_id, ()))
        return self.limit_seconds + vanished * self.again_seconds

    def waited_seconds(self, customer: CustomerRun, post: Post) -> float | None:
        """From the moment it was stored to its outcome; None while it has none."""
        steps = self.steps_of(customer, post)
        received = [step.at_ms for step in steps if step.event == "received"]
        ends = [step.at_ms for step in steps if step.event in OUTCOMES]
        return (ends[0] - received[0]) / 1000 if received and ends else None
