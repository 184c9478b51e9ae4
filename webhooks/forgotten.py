"""Refuses what is older than we remember: it may have been answered already, and a recorded request may be sent again.

A signature of Meta's holds for ever, and nothing in it says when it was made. Only what is remembered can be told from
what is new; whatever is older is noted down and nothing else.
"""

from collections.abc import Sequence
from typing import assert_never

from bot.incoming.events import (
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    Noted,
    PolicyEnforcement,
    ThreadControl,
)
from store.limits import SEEN_SECONDS

CLOCKS_APART_SECONDS = 12 * 3600.0
"""By so much our clock may be behind Meta's, and nothing that was forgotten is taken for new."""

TAKEN_SECONDS = SEEN_SECONDS - CLOCKS_APART_SECONDS
"""Meta repeats an event for up to 36 hours; our clock may be ahead by the rest before one of its own is refused."""

_TAKEN_MS = round(TAKEN_SECONDS * 1000)

FORGOTTEN = "too_old"


def has_forgotten(events: Sequence[Event], received_ms: int) -> bool:
    """Whether any was too old when it was received."""
    oldest_ms = received_ms - _TAKEN_MS
    for event in events:  # no generator: every POST passes here  # noqa: SIM110
        if _is_older(event, oldest_ms):
            return True
    return False


def without_forgotten(events: Sequence[Event], received_ms: int) -> list[Event]:
    """`events`, with a note in the place of each that was too old."""
    oldest_ms = received_ms - _TAKEN_MS
    return [Noted(FORGOTTEN, _account_of(event)) if _is_older(event, oldest_ms) else event for event in events]


def _is_older(event: Event, oldest_ms: int) -> bool:
    match event:
        case CustomerMessage():
            # Without an answer from the start: Meta's own test messages bear dates of years ago.
            return event.closed_as is None and event.at_ms < oldest_ms
        case Echo() | Edit() | ThreadControl() | PolicyEnforcement():
            return event.at_ms < oldest_ms
        case Noted():  # a comment is remembered for longer than it can be answered (store/outboxes/comments.py)
            return event.unread is not None and event.unread.at_ms < oldest_ms
        case Deletion() | CustomerAction():  # again, they change nothing
            return False
        case _:
            assert_never(event)


def _account_of(event: Event) -> str:
    return event.account_id if isinstance(event, Noted | PolicyEnforcement) else event.contact.account_id
