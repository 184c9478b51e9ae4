"""The ladder as a pure function: attempts and time in, the next rung out."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.ladder import MAX_REPAIRS, Ask, Attempt, GiveUp, Rung, default_ladder, next_move
from bot.agent.repairs import Repair, repair_for
from bot.model_output import CallFault
from bot.verdict import Verdict

LADDER = default_ladder(main="main/model", fallback="other/model", max_kicks=2)
MAIN, KICK_1, KICK_2, FALLBACK = range(4)
SILENT = Attempt(MAIN, "reasoning_lock", Verdict.RETRY_REQUIRED)
EMPTY = Attempt(MAIN, "true_empty", Verdict.EMPTY_NO_TOKENS)


def move_after(*attempts: Attempt, left: float = 40, ladder: tuple[Rung, ...] = LADDER, **more: bool) -> Ask | GiveUp:
    return next_move(
        attempts, ladder, seconds_left=left, shortest_call_seconds=3, fallback_seconds=15, salvageable=bool(more)
    )


def test_the_first_rung_is_the_main_model() -> None:
    assert move_after() == Ask(MAIN)


def test_the_shorthand_respects_max_kicks() -> None:
    names = [[r.name for r in default_ladder(main="a", fallback="b", max_kicks=n)] for n in range(3)]

    assert names == [["main", "fallback"], ["main", "kick_1", "fallback"], ["main", "kick_1", "kick_2", "fallback"]]


def test_without_a_fallback_the_main_model_is_asked_a_last_time_differently() -> None:
    last = default_ladder(main="a", fallback="", max_kicks=2)[-1]

    assert last == Rung("fallback", "a", thinking="off", flatten=True, is_fallback=True)


def test_each_rung_changes_something_real() -> None:
    changes = [(r.model, r.kick, r.thinking, r.tools, r.flatten) for r in LADDER]

    assert len(set(changes)) == len(changes)


def test_two_empties_without_a_token_go_to_the_fallback_at_once() -> None:
    assert move_after(EMPTY) == Ask(MAIN, other_provider=True, repeated=True, flatten=True)
    second = move_after(EMPTY, replace(EMPTY, repeated=True))

    assert isinstance(second, Ask)
    assert second.rung == FALLBACK


def test_an_empty_after_a_repeat_of_another_kind_still_goes_up() -> None:
    cut = Attempt(MAIN, "cut", fault=CallFault.CUT)
    move = move_after(cut, replace(EMPTY, repeated=True))

    assert isinstance(move, Ask)
    assert move.rung == KICK_1


def test_a_long_wait_that_a_server_asks_for_is_not_granted() -> None:
    busy = Attempt(MAIN, "overloaded", fault=CallFault.OVERLOADED, retry_after_seconds=20)

    assert move_after(busy) == Ask(FALLBACK, other_provider=True)
    assert move_after(replace(busy, retry_after_seconds=5)) == Ask(
        MAIN, wait_seconds=5, other_provider=True, repeated=True
    )


def test_a_rung_that_would_eat_the_time_of_the_fallback_is_skipped() -> None:
    assert move_after(SILENT, left=17) == Ask(FALLBACK)


def test_without_time_for_any_call_only_the_stub_is_left() -> None:
    assert move_after(SILENT, left=2.9) == GiveUp("reasoning_lock")


def test_endless_reasoning_goes_where_thinking_is_off() -> None:
    assert move_after(Attempt(MAIN, "thinking_too_long", fault=CallFault.THINKING_TOO_LONG)) == Ask(KICK_2)


def test_an_answer_cut_by_its_length_gets_more_room() -> None:
    eaten = Attempt(MAIN, "budget_eaten", Verdict.RETRY_REQUIRED, hint="shorter")

    assert move_after(eaten) == Ask(KICK_1, more_tokens=True, hint="shorter")


def test_a_repair_is_tried_once() -> None:
    refused = Attempt(MAIN, "bad_request", fault=CallFault.BAD_REQUEST, repair=Repair.FLATTEN)
    assert move_after(refused) == Ask(MAIN, repair=Repair.FLATTEN)

    assert move_after(refused, replace(refused, mended=Repair.FLATTEN)) == Ask(FALLBACK)


def test_each_repair_is_tried_once_and_five_are_the_most() -> None:
    cures = [Repair.LIMIT_NAME, Repair.NO_TOOLS, Repair.SYSTEM_AS_USER, Repair.FEWER_TOKENS, Repair.TEMPERATURE]
    refused = Attempt(MAIN, "bad_request", fault=CallFault.BAD_REQUEST)
    done = [replace(refused, repair=cures[0])]
    for mended, next_cure in pairwise([*cures, Repair.TRIM]):
        assert move_after(*done) == Ask(MAIN, repair=mended)
        done.append(replace(refused, mended=mended, repair=next_cure))

    assert move_after(*done) == Ask(FALLBACK)


def test_another_model_may_need_the_same_repair() -> None:
    refused = Attempt(MAIN, "bad_request", fault=CallFault.BAD_REQUEST, repair=Repair.LIMIT_NAME)
    again = replace(refused, mended=Repair.LIMIT_NAME)

    assert move_after(refused, again, replace(refused, rung=FALLBACK)) == Ask(FALLBACK, repair=Repair.LIMIT_NAME)


def test_a_failed_last_step_goes_on_flattened_then_to_the_fallback_then_to_the_stub() -> None:
    called = Attempt(MAIN, "tool_call_on_last_step", Verdict.RETRY_REQUIRED, last_step=True)
    assert move_after(called) == Ask(KICK_2, flatten=True, bare=True)
    again = replace(called, rung=KICK_2, bare=True)
    assert move_after(called, again) == Ask(FALLBACK, bare=True)

    assert move_after(called, again, replace(again, rung=FALLBACK)) == GiveUp("tool_call_on_last_step")


def test_a_ladder_without_kicks_asks_the_same_rung_flattened_at_the_last_step() -> None:
    ladder = default_ladder(main="a", fallback="b", max_kicks=0)
    called = Attempt(0, "tool_call_on_last_step", Verdict.RETRY_REQUIRED, last_step=True)

    assert move_after(called, ladder=ladder) == Ask(0, flatten=True, bare=True)


def test_salvage_is_tried_only_with_a_candidate() -> None:
    ladder = default_ladder(main="a", fallback="b", max_kicks=0, salvage=True)
    last = Attempt(1, "reasoning_lock", Verdict.RETRY_REQUIRED)

    assert move_after(SILENT, last, ladder=ladder) == GiveUp("reasoning_lock")
    assert move_after(SILENT, last, ladder=ladder, salvageable=True) == Ask(2)


def test_salvage_is_no_fallback_for_which_time_is_kept() -> None:
    ladder = (Rung("only", "a"), Rung("salvage", "a", is_fallback=True, salvage=True))
    busy = Attempt(0, "overloaded", fault=CallFault.OVERLOADED)

    assert move_after(busy, ladder=ladder, left=4) == Ask(0, other_provider=True, repeated=True)


@pytest.mark.parametrize(
    ("fault", "detail", "request_is", "repair"),
    [
        (CallFault.BAD_REQUEST, "reasoning_not_passed_back", {"has_tool_steps": True}, Repair.FLATTEN),
        (CallFault.BAD_REQUEST, "system_not_first", {"has_tool_steps": True}, Repair.FLATTEN),
        (CallFault.BAD_REQUEST, "http_400", {}, Repair.NONE),
        (CallFault.NOT_FOUND, "tool_choice_unsupported", {"is_plain": False}, Repair.PLAIN),
        (CallFault.NOT_FOUND, "no_endpoints", {"is_plain": False}, Repair.PLAIN),
        (CallFault.NOT_FOUND, "no_endpoints", {}, Repair.NONE),
        (CallFault.NOT_FOUND, "unknown_model", {"is_plain": False}, Repair.NONE),
        (CallFault.ACCOUNT, "http_401", {}, Repair.NONE),
        (CallFault.CONTEXT_TOO_LONG, "context_length_exceeded", {}, Repair.TRIM),
    ],
)
def test_each_named_cause_has_its_cure(
    fault: CallFault, detail: str, request_is: dict[str, bool], repair: Repair
) -> None:
    assert repair_for(fault, detail, **({"has_tool_steps": False, "is_plain": True} | request_is)) is repair


ATTEMPTS = st.builds(
    Attempt,
    rung=st.just(0),
    rule=st.sampled_from(["reasoning_lock", "stream_cut", "budget_eaten"]),
    verdict=st.sampled_from([None, Verdict.RETRY_REQUIRED, Verdict.FAILED_FALLBACK, Verdict.EMPTY_NO_TOKENS]),
    fault=st.none() | st.sampled_from(CallFault),
    retry_after_seconds=st.none() | st.floats(0, 30),
    repair=st.sampled_from(Repair),
    last_step=st.booleans(),
)


@given(st.lists(ATTEMPTS, min_size=30, max_size=30), st.integers(0, 2), st.booleans())
def test_every_run_ends_soon_whatever_the_models_do(attempts: list[Attempt], kicks: int, salvage: bool) -> None:
    ladder = default_ladder(main="a", fallback="b", max_kicks=kicks, salvage=salvage)
    done: list[Attempt] = []
    for attempt in attempts:
        move = move_after(*done, ladder=ladder, salvageable=True)
        if isinstance(move, GiveUp):
            break
        assert not done or move.rung >= done[-1].rung
        done.append(replace(attempt, rung=move.rung, repeated=move.repeated, mended=move.repair, bare=move.bare))

    assert len(done) <= len(ladder) + 2 + 2 * MAX_REPAIRS
