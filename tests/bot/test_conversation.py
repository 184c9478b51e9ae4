"""What a turn reads of its conversation."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.conversation import Conversation, OpenMessage, in_order
from bot.incoming.events import Channel, Contact

CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
EMPTY = Conversation("c0ffee", CONTACT, "1", (), (), None, 9_000)


def message(at_ms: int, received_ms: int, mid: str = "m") -> OpenMessage:
    return OpenMessage(f"{mid}{at_ms}", mid, at_ms, received_ms, "Есть?")


def test_metas_own_times_decide_the_order_and_the_time_of_coming_between_equals() -> None:
    late, early, twin = message(2, 1), message(1, 3), message(2, 0)

    assert in_order([late, early, twin]) == (early, twin, late)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6))
def test_no_message_is_lost_in_ordering(times: list[tuple[int, int]]) -> None:
    messages = [message(at, received, str(number)) for number, (at, received) in enumerate(times)]

    assert sorted(m.key for m in in_order(messages)) == sorted(m.key for m in messages)


def test_the_window_counts_from_the_newest_action_and_waiting_from_the_oldest_message() -> None:
    waiting = replace(EMPTY, messages=(message(2_000, 5_000), message(3_000, 4_000)))

    assert (waiting.oldest_received_ms, waiting.newest_at_ms, waiting.last_action_at_ms) == (4_000, 3_000, 3_000)
    assert replace(waiting, acted_at_ms=7_000).last_action_at_ms == 7_000


def test_without_messages_now_stands_for_both() -> None:
    assert (EMPTY.oldest_received_ms, EMPTY.newest_at_ms) == (9_000, 9_000)
