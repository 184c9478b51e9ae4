"""The sums of the report: small days by hand."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.report import Turn, percentiles, report_of, topics_of


def attempt(verdict: str = "success", rule: str = "ok", **more: Any) -> dict[str, Any]:
    known = {"rung": "main", "step": 0, "model_asked": "a/main", "model": "a/main", "provider": "P", "prompt_hash": "h"}
    return {**known, "verdict": verdict, "rule": rule, **more}


def turn(*attempts: dict[str, Any], number: int = 1, outcome: str = "answered", **more: Any) -> Turn:
    delivered = more.pop("delivered", None)
    superseded = more.pop("superseded", False)
    record = {"outcome": outcome, "rule": "ok", "seconds": 1.0, "stage": "CONSULT", "attempts": list(attempts), **more}
    return Turn(f"{number}-0", record, delivered, superseded)


def test_an_empty_span_has_no_shares() -> None:
    report = report_of([])

    assert report["turns"] == 0
    assert report["stubs_per_1000"] == 0.0
    assert report["silence_share"] is None
    assert report["turn_seconds"] == {"p50": None, "p95": None}


def test_silence_failures_rescues_and_stubs_are_told_apart() -> None:
    report = report_of(
        [
            turn(attempt(), number=1),
            turn(
                attempt("retry_required", "reasoning_lock", cost=0.03),
                attempt(rung="kick_1", cost=0.01),
                number=2,
                rescued_by="kick_1",
            ),
            turn(attempt("call_failed", "overloaded", model="", provider=""), attempt(), number=3, rescued_by="main"),
            turn(
                attempt("empty_no_tokens", "true_empty"),
                attempt("failed_fallback", "refusal", rung="fallback", model="b/other"),
                number=4,
                outcome="handed_over",
                rule="refusal",
            ),
        ]
    )

    assert report["turns"] == 4
    assert report["attempts"] == 7
    assert report["silent_attempts"] == 3
    assert report["failed_calls"] == 1
    assert report["turns_with_silence"] == 3
    assert report["caught_by_rule"] == {"overloaded": 1, "reasoning_lock": 1, "refusal": 1, "true_empty": 1}
    assert report["rescued_by_rung"] == {"kick_1": 1, "main": 1}
    assert (report["stubs"], report["stubs_per_1000"], report["stubs_by_rule"]) == (1, 250.0, {"refusal": 1})
    assert (report["cost_usd"], report["cost_of_silence_usd"]) == (0.04, 0.03)
    assert report["failed_turns"] == ["4-0"]
    assert list(report["by_model"]) == ["a/main", "b/other"]
    assert report["by_model"]["b/other"]["silence_share"] == 1.0
    assert report["by_provider"]["unknown"]["failed_calls"] == 1


def test_a_superseded_turn_costs_and_is_no_outcome() -> None:
    report = report_of([turn(attempt(cost=0.5), superseded=True), turn(attempt(cost=0.25), number=2)])

    assert (report["turns"], report["superseded_turns"]) == (1, 1)
    assert report["attempts"] == 2
    assert report["cost_usd"] == 0.75


def test_shares_are_of_all_tokens() -> None:
    full: dict[str, Any] = {"prompt_tokens": 100, "cached_tokens": 90, "completion_tokens": 50, "reasoning_tokens": 10}

    report = report_of([turn(attempt(**full), attempt(prompt_tokens=100))])

    assert report["cache_share"] == 0.45
    assert report["reasoning_share"] == 0.2


def test_partial_answers_and_tag_misses_are_counted() -> None:
    report = report_of(
        [
            turn(attempt(), partial=True, tags_missing=["TASK", "STAGE"]),
            turn(attempt(), number=2, tags_missing=["TASK"]),
        ]
    )

    assert report["partial"] == 1
    assert report["tag_misses"] == 2
    assert report["tags_missing"] == {"TASK": 2, "STAGE": 1}


def test_percentiles_are_values_that_occurred() -> None:
    assert percentiles([5, 1, 4, 2, 3]) == {"p50": 3, "p95": 5}
    assert percentiles([7]) == {"p50": 7, "p95": 7}


def test_seconds_to_delivery_leave_out_what_was_not_delivered() -> None:
    report = report_of([turn(attempt(), delivered=4.0), turn(attempt(), number=2)])

    assert report["delivered_seconds"] == {"p50": 4.0, "p95": 4.0}


def test_topics_gather_around_their_commonest_word() -> None:
    topics = topics_of([["парковк", "рядом"], ["парковк", "мест"], ["парковк", "мест"], ["собак"], []])

    assert topics == [{"words": ["парковк", "мест", "рядом"], "turns": 3}, {"words": ["собак"], "turns": 1}]


@given(st.lists(st.lists(st.text("абв", min_size=1, max_size=3), max_size=8), max_size=30))
def test_every_message_belongs_to_one_topic(messages: list[list[str]]) -> None:
    topics = topics_of(messages)

    if len(topics) < 20:
        assert sum(topic["turns"] for topic in topics) == sum(bool(words) for words in messages)
