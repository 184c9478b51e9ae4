"""What a rehearsal found, as values: one row a fault, the sums, the broken promises and where to look at them."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.checker import LOST, NOT_TWICE, Broken
from rehearsal.evidence import OUTCOMES, Evidence


@dataclass(frozen=True, slots=True)
class Row:
    fault: str
    says: str
    conversations: int
    messages: int
    outcomes: dict[str, int]
    slowest_seconds: float
    broken: int


@dataclass(frozen=True, slots=True)
class Report:
    """`notes` are what an operator may want to know although no promise hangs on it."""

    seed: int
    rows: Sequence[Row]
    broken: Sequence[Broken]
    directory: str
    notes: Sequence[str] = ()

    @property
    def messages(self) -> int:
        return sum(row.messages for row in self.rows)

    @property
    def conversations(self) -> int:
        return sum(row.conversations for row in self.rows)

    @property
    def outcomes(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for row in self.rows:
            total.update(row.outcomes)
        return dict(total)

    @property
    def lost(self) -> int:
        return sum(finding.promise == LOST for finding in self.broken)

    @property
    def doubled(self) -> int:
        return sum(finding.promise == NOT_TWICE for finding in self.broken)

    @property
    def slowest_seconds(self) -> float:
        return max((row.slowest_seconds for row in self.rows), default=0.0)

    def as_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "conversations": self.conversations,
            "messages": self.messages,
            "outcomes": self.outcomes,
            "lost": self.lost,
            "doubled": self.doubled,
            "slowest_seconds": self.slowest_seconds,
            "faults": {
                row.fault: {
                    "messages": row.messages,
                    "outcomes": row.outcomes,
                    "slowest_seconds": row.slowest_seconds,
                    "broken": row.broken,
                }
                for row in self.rows
            },
            "broken": [
                {
                    "promise": finding.promise,
                    "fault": finding.fault,
                    "conversation": finding.conversation,
                    "mid": finding.mid,
                    "what": finding.what,
                    "see": self.see(finding),
                }
                for finding in self.broken
            ],
            "notes": list(self.notes),
            "directory": self.directory if self.broken else "",
        }

    def see(self, finding: Broken) -> str:
        """Where the story of one finding is written down."""
        return f"{self.directory}/why/{finding.conversation}.txt" if finding.conversation else f"{self.directory}/*.log"


def make_report(
    evidence: Evidence, broken: Sequence[Broken], *, seed: int, directory: Path, notes: Sequence[str]
) -> Report:
    rows: dict[str, Row] = {}
    findings = Counter(finding.fault for finding in broken)
    for customer in evidence.customer_runs:
        fault = customer.fault
        row = rows.get(fault.name) or Row(fault.name, fault.says, 0, 0, {}, 0.0, findings[fault.name])
        outcomes = Counter(row.outcomes)
        slowest = row.slowest_seconds
        for post in customer.posts:
            ends = evidence.ends_of(customer, post)
            outcomes[ends[0].event if ends else "open"] += 1
            slowest = max(slowest, evidence.waited_seconds(customer, post) or 0.0)
        rows[fault.name] = Row(
            fault.name,
            fault.says,
            row.conversations + 1,
            row.messages + len(customer.posts),
            dict(outcomes),
            round(slowest, 1),
            row.broken,
        )
    return Report(seed, sorted(rows.values(), key=lambda row: row.fault), broken, str(directory), notes)


def write_stories(evidence: Evidence, broken: Sequence[Broken], directory: Path) -> None:
    """For each conversation with a finding: the steps of the ledger, the words that arrived, the lines of the logs."""
    folder = directory / "why"
    logs = {log.name: log.read_text(encoding="utf-8", errors="replace") for log in sorted(directory.glob("*.log"))}
    for customer in evidence.customer_runs:
        conversation = customer.conversation_id
        mine = [finding for finding in broken if finding.conversation == conversation]
        if not mine:
            continue
        lines = [f"{finding.promise}: {finding.what}" for finding in mine]
        lines += ["", f"fault: {customer.fault.name}: {customer.fault.says}", "", "messages (key, mid)"]
        lines += [f"  {post.key} {post.mid} acknowledged={post.acknowledged}" for post in customer.posts]
        lines += ["", "the ledger"]
        lines += [
            f"  {_clock(step.at_ms / 1000)} {step.key or '-':16} {step.event} {step.why}"
            for step in evidence.steps.get(conversation, ())
        ]
        lines += ["", "what arrived at the customer"]
        lines += [f"  {_clock(read.at)} {read.text[:120]!r}" for read in evidence.read_by(customer)]
        lines += ["", "the logs"]
        lines += [
            f"  {name}: {line[:400]}"
            for name, text in logs.items()
            for line in text.splitlines()
            if conversation in line
        ]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{conversation}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _clock(seconds: float) -> str:
    return f"{time.strftime('%H:%M:%S', time.gmtime(seconds))}.{int(seconds * 1000) % 1000:03d}"


__all__ = ["OUTCOMES", "Report", "Row", "make_report", "write_stories"]
