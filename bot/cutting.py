"""How much of what a customer has written a model is given to read: too much is cut, and the model is told so."""

from collections.abc import Sequence

from bot.conversation import HistoryLine
from bot.text.urls import beginning_of, end_of


def cut_middle(text: str, most: int) -> str:
    """At most `most` characters of `text` with a note where the rest was; 0: all of it.

    The newest words stand at the end and matter most, so they keep three quarters of the room.
    """
    if not 0 < most < len(text):
        return text
    head, tail = beginning_of(text, most // 4), end_of(text, most - most // 4)
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[{left_out} characters of what was written are left out here]\n{tail}"


def recent(lines: Sequence[HistoryLine], most: int) -> list[tuple[HistoryLine, str]]:
    """The newest lines with as much of their words as fits into `most` characters in all; 0: all of them."""
    kept: list[tuple[HistoryLine, str]] = []
    room = most
    for line in reversed(lines):
        if most and room <= 0:
            break
        kept.append((line, cut_middle(line.text, room if most else 0)))
        room -= len(line.text)
    return kept[::-1]
