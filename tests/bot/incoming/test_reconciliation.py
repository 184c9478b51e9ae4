"""Which messages of a conversation no webhook has brought, and what is to become of them."""

from collections.abc import Sequence

from bot.incoming.backfill import ReadBack
from bot.incoming.events import Channel, Contact, CustomerMessage, Echo
from bot.incoming.reconciliation import Seen, find_lost
from bot.outcome import SilenceReason

ACCOUNT, CUSTOMER = "17841400000000042", "9001000000000123"
CONTACT = Contact(Channel.INSTAGRAM, ACCOUNT, CUSTOMER)
NOW_MS = 1_790_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE


def said(minutes_ago: float, *, known: bool = False, mid: str = "") -> Seen:
    return seen(minutes_ago, CUSTOMER, known=known, mid=mid)


def wrote(minutes_ago: float, *, known: bool = False, ours: bool = False) -> Seen:
    return seen(minutes_ago, ACCOUNT, known=known, ours=ours)


def seen(minutes_ago: float, sender: str, *, known: bool = False, ours: bool = False, mid: str = "") -> Seen:
    at_ms = NOW_MS - round(minutes_ago * MINUTE)
    fields = {"message": "words"}
    to = ACCOUNT if sender == CUSTOMER else CUSTOMER
    message = ReadBack(mid or f"{sender} {minutes_ago}", at_ms, sender, (to,), fields)
    return Seen(message, from_account=sender == ACCOUNT, known=known, ours=ours)


def lost(
    *newest_first: Seen, since_ms: int = NOW_MS - 12 * HOUR, automatic_ms: int = 0
) -> list[CustomerMessage | Echo]:
    return find_lost(newest_first, CONTACT, now_ms=NOW_MS, since_ms=since_ms, automatic_ms=automatic_ms)


def shape(events: Sequence[CustomerMessage | Echo]) -> list[str]:
    return [
        "echo" if isinstance(event, Echo) else "closed" if event.closed_as is SilenceReason.HUMAN_ANSWERED else "open"
        for event in events
    ]


def test_unknown_words_of_the_customer_are_found_in_order() -> None:
    found = lost(said(2, mid="c"), said(3, known=True, mid="b"), said(4, mid="a"))

    assert [event.mid for event in found] == ["a", "c"]
    assert shape(found) == ["open", "open"]


def test_what_the_books_know_is_not_lost() -> None:
    assert lost(wrote(2, ours=True), wrote(3, known=True), said(4, known=True)) == []


def test_what_a_human_has_written_after_is_answered_by_them() -> None:
    assert shape(lost(wrote(2), said(3))) == ["closed", "echo"]
    assert shape(lost(wrote(2, known=True), said(3))) == ["closed"]


def test_what_the_bot_has_said_to_other_words_answers_nothing() -> None:
    assert shape(lost(wrote(2, ours=True), said(3, known=True), said(4))) == ["open"]


def test_words_after_the_humans_are_open() -> None:
    assert shape(lost(said(2), wrote(3))) == ["echo", "open"]


def test_metas_own_automatic_reply_is_no_human() -> None:
    assert shape(lost(wrote(3.0 - 2 / 60), said(3), automatic_ms=5000)) == ["open"]
    assert shape(lost(wrote(3.0 - 6 / 60), said(3), automatic_ms=5000)) == ["closed", "echo"]


def test_what_is_young_may_still_come_by_itself() -> None:
    assert lost(said(0.5)) == []
    assert shape(lost(said(0.5), said(2))) == ["open"]


def test_nothing_is_judged_while_words_of_our_side_are_too_young_to_be_told_apart() -> None:
    assert lost(wrote(0.5), said(2)) == []
    assert shape(lost(wrote(0.5, ours=True), said(2))) == ["open"]
    assert shape(lost(wrote(0.5, known=True), said(2))) == ["closed"]


def test_nothing_before_the_given_time_is_looked_at() -> None:
    assert shape(lost(said(2), said(5), since_ms=NOW_MS - 4 * MINUTE)) == ["open"]


def test_what_may_not_be_answered_any_more_is_left_alone() -> None:
    assert lost(said(24 * 60), since_ms=0) == []
