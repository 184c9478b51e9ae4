"""The sums behind `nightshift report`: turn records of the telemetry in, figures out."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KEPT_RECORDS = 40_000  # turns and notes of delivery together

UNUSABLE = frozenset({"retry_required", "failed_fallback", "empty_no_tokens"})
MOST_TOPICS = 20
WORDS_OF_A_TOPIC = 6


@dataclass(frozen=True, slots=True)
class Turn:
    """One record. `delivered_seconds` from the customer's first words to the last part, None while not known."""

    id: str
    record: Mapping[str, Any]
    delivered_seconds: float | None = None
    superseded: bool = False  # newer messages came: the turn started again, and this answer was not sent

    @property
    def attempts(self) -> Sequence[Mapping[str, Any]]:
        return list(self.record["attempts"])


@dataclass(slots=True)
class _Calls:
    """What adds up over attempts."""

    attempts: int = 0
    silent: int = 0
    failed: int = 0
    cost: float = 0.0
    silent_cost: float = 0.0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    first_bytes: list[float] = field(default_factory=list)

    def add(self, attempt: Mapping[str, Any]) -> None:
        cost = float(attempt.get("cost") or 0)
        self.attempts += 1
        self.cost += cost
        if attempt["verdict"] in UNUSABLE:
            self.silent += 1
            self.silent_cost += cost
        self.failed += attempt["verdict"] == "call_failed"
        self.prompt += int(attempt.get("prompt_tokens", 0))
        self.cached += int(attempt.get("cached_tokens", 0))
        self.completion += int(attempt.get("completion_tokens", 0))
        self.reasoning += int(attempt.get("reasoning_tokens", 0))
        if attempt.get("first_byte_seconds") is not None:
            self.first_bytes.append(float(attempt["first_byte_seconds"]))

    def figures(self) -> dict[str, Any]:
        return {
            "attempts": self.attempts,
            "silent_attempts": self.silent,
            "silence_share": share(self.silent, self.attempts),
            "failed_calls": self.failed,
            "cost_usd": round(self.cost, 6),
            "cost_of_silence_usd": round(self.silent_cost, 6),
            "cache_share": share(self.cached, self.prompt),
            "reasoning_share": share(self.reasoning, self.completion),
            "first_byte_seconds": percentiles(self.first_bytes),
        }


def report_of(turns: Iterable[Turn]) -> dict[str, Any]:
    """All figures, as the JSON of `nightshift report --json` has them.

    An attempt is silent when it gave no words that a customer may read; a failed call gave no answer at all. Money
    and attempts count for every turn, outcomes only for those whose answer was not superseded.
    """
    everything = list(turns)
    final = [turn for turn in everything if not turn.superseded]
    calls = _Calls()
    caught: Counter[str] = Counter()
    for turn in everything:
        for attempt in turn.attempts:
            calls.add(attempt)
            if attempt["verdict"] in UNUSABLE or attempt["verdict"] == "call_failed":
                caught[attempt.get("rule", "")] += 1
    outcomes = Counter(str(turn.record["outcome"]) for turn in final)
    stubs = outcomes["handed_over"]
    rescued = Counter(str(turn.record["rescued_by"]) for turn in final if turn.record.get("rescued_by"))
    missing = Counter(key for turn in final for key in turn.record.get("tags_missing", ()))
    return {
        "turns": len(final),
        "superseded_turns": len(everything) - len(final),
        "outcomes": _sorted(outcomes),
        "turns_with_silence": sum(
            any(a["verdict"] in UNUSABLE or a["verdict"] == "call_failed" for a in turn.attempts) for turn in final
        ),
        "caught_by_rule": _sorted(caught),
        "rescued": sum(rescued.values()),
        "rescued_by_rung": _sorted(rescued),
        "stubs": stubs,
        "stubs_per_1000": round(1000 * stubs / len(final), 1) if final else 0.0,
        "stubs_by_rule": _sorted(Counter(str(t.record["rule"]) for t in final if t.record["outcome"] == "handed_over")),
        "partial": sum(bool(turn.record.get("partial")) for turn in final),
        "salvaged": sum(bool(turn.record.get("salvaged")) for turn in final),
        "tag_misses": sum(bool(turn.record.get("tags_missing")) for turn in final),
        "tags_missing": _sorted(missing),
        **calls.figures(),
        "turn_seconds": percentiles([float(turn.record["seconds"]) for turn in final]),
        "delivered_seconds": percentiles([t.delivered_seconds for t in final if t.delivered_seconds is not None]),
        "by_model": _by(everything, lambda attempt: attempt.get("model") or attempt["model_asked"]),
        "by_provider": _by(everything, lambda attempt: attempt.get("provider") or "unknown"),
        "by_prompt": _by(everything, lambda attempt: attempt["prompt_hash"]),
        "by_stage": _by_stage(final),
        "uncovered_topics": topics_of([turn.record.get("keywords") or () for turn in final]),
        "failed_turns": [turn.id for turn in final if turn.record["outcome"] == "handed_over"][-10:],
    }


def topics_of(keywords: Iterable[Sequence[str]]) -> list[dict[str, Any]]:
    """Messages that no script and no tool covered, grouped by the commonest word they share; the largest first."""
    messages = [list(words) for words in keywords if words]
    common = Counter(word for words in messages for word in set(words))
    groups: dict[str, list[list[str]]] = defaultdict(list)
    for words in messages:
        groups[min(words, key=lambda word: (-common[word], word))].append(words)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TOPICS]
    return [{"words": [head, *_beside(head, members)], "turns": len(members)} for head, members in ranked]


def _beside(head: str, members: Sequence[Sequence[str]]) -> list[str]:
    """The words most often met together with `head`."""
    counts = Counter(word for words in members for word in set(words) if word != head)
    return list(_sorted(counts))[: WORDS_OF_A_TOPIC - 1]


def share(part: float, whole: float) -> float | None:
    """None where there is nothing to share."""
    return round(part / whole, 4) if whole else None


def percentiles(values: Sequence[float]) -> dict[str, float | None]:
    """p50 and p95 by the nearest rank: values that occurred, none in between."""
    ordered = sorted(values)
    return {
        f"p{p}": round(ordered[max(math.ceil(p / 100 * len(ordered)) - 1, 0)], 3) if ordered else None for p in (50, 95)
    }


def _by(turns: Sequence[Turn], name: Callable[[Mapping[str, Any]], str]) -> dict[str, dict[str, Any]]:
    sums: dict[str, _Calls] = defaultdict(_Calls)
    for turn in turns:
        for attempt in turn.attempts:
            sums[name(attempt)].add(attempt)
    ranked = sorted(sums.items(), key=lambda item: (-item[1].attempts, item[0]))
    return {key: calls.figures() for key, calls in ranked}


def _by_stage(turns: Sequence[Turn]) -> dict[str, dict[str, int]]:
    stages: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in turns:
        stage = stages[str(turn.record.get("stage") or "NEW")]
        stage["turns"] += 1
        stage["stubs"] += turn.record["outcome"] == "handed_over"
        stage["tag_misses"] += bool(turn.record.get("tags_missing"))
    return {name: dict(stages[name]) for name in sorted(stages)}


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(((name, n) for name, n in counts.items() if n), key=_by_count))


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
