"""Parts of a reply that a channel takes: cut at paragraphs, then sentences, then words, then grapheme clusters."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

import regex

from bot.text.sentences import sentence_ends
from bot.text.visible import is_blank

_PARAGRAPH = regex.compile(r"\n[^\S\n]*+\n\s*+")
_LINE = regex.compile(r"\n\s*+")
_WORD = regex.compile(r"\s++")
_GRAPHEME = regex.compile(r"\X")

# A better border is taken only where the part before it fills this share of the limit.
_FILL = {"paragraph": 0.3, "line": 0.4, "sentence": 0.4, "word": 0.0}

_LIMITS = {"instagram": {"max_bytes": 1000}, "messenger": {"max_chars": 2000}}


def limit_for(channel: str) -> dict[str, int]:
    """Arguments of `split_text` for a channel: Instagram counts UTF-8 bytes, Messenger characters."""
    return dict(_LIMITS[channel])


def split_text(text: str, *, max_bytes: int | None = None, max_chars: int | None = None) -> list[str]:
    """Parts of `text` in order, each within the limits and readable; together they are the text but for white space.

    `max_chars` counts UTF-16 units, the strictest reading of "characters". A word longer than a part (a long address)
    is cut between grapheme clusters, a cluster longer than a part between code points. A part without visible text
    (a lone dash between two cuts) is left out. Raises ValueError for a limit below one code point.
    """
    if (max_bytes is not None and max_bytes < 4) or (max_chars is not None and max_chars < 2):
        raise ValueError("a limit must hold at least one code point: 4 bytes or 2 UTF-16 units")
    text = text.strip()
    if _fits(text, max_bytes=max_bytes, max_chars=max_chars):
        return [] if is_blank(text) else [text]
    byte_sizes = _sums(text, _utf8_size) if max_bytes is not None else None
    char_sizes = _sums(text, _utf16_size) if max_chars is not None else None

    def furthest(start: int) -> int:
        end = len(text)
        if byte_sizes is not None and max_bytes is not None:
            end = min(end, bisect_right(byte_sizes, byte_sizes[start] + max_bytes) - 1)
        if char_sizes is not None and max_chars is not None:
            end = min(end, bisect_right(char_sizes, char_sizes[start] + max_chars) - 1)
        return end

    borders = _borders(text)
    parts: list[str] = []
    start = 0
    while start < len(text):
        if text[start].isspace():
            start += 1
            continue
        end = furthest(start)
        cut = end if end == len(text) else _best_cut(borders, start, end)
        parts.append(text[start:cut].rstrip())
        start = cut
    return [part for part in parts if not is_blank(part)]


def _fits(text: str, *, max_bytes: int | None, max_chars: int | None) -> bool:
    """By the longest that so many characters can be, for most texts; else by counting."""
    if max_bytes is not None and len(text) * 4 > max_bytes and sum(map(_utf8_size, text)) > max_bytes:
        return False
    return max_chars is None or len(text) * 2 <= max_chars or sum(map(_utf16_size, text)) <= max_chars


def _best_cut(borders: dict[str, list[int]], start: int, end: int) -> int:
    for kind, positions in borders.items():
        index = bisect_right(positions, end) - 1
        if index < 0:
            continue
        least = start + (end - start) * _FILL.get(kind, 0.0)
        if positions[index] > start and positions[index] >= least:
            return positions[index]
    return end


def _borders(text: str) -> dict[str, list[int]]:
    """Positions at which a part may end, by kind, best kind first."""
    return {
        "paragraph": [match.start() for match in _PARAGRAPH.finditer(text)],
        "line": [match.start() for match in _LINE.finditer(text)],
        "sentence": sentence_ends(text),
        "word": [match.start() for match in _WORD.finditer(text)],
        "grapheme": [match.end() for match in _GRAPHEME.finditer(text)],
    }


def _sums(text: str, size: Callable[[str], int]) -> list[int]:
    return list(accumulate(map(size, text), initial=0))


def _utf8_size(char: str) -> int:
    code = ord(char)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _utf16_size(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1
