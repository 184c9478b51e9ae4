"""Text that has come apart: endless repetition, mojibake, a salad of scripts."""

import re
from collections import Counter

import regex

from bot.text.alphabets import SCRIPTS, count_scripts
from bot.text.visible import visible_text

# A refrain may come four times; six times in a row is no human speech.
_REPEATS = 6
_LONGEST_UNIT_WORDS = 40
_LEAST_LOOP_WORDS = 24
_LEAST_LOOP_REPEATS = 20  # of words said before: what the shortest loop below has

# Only in so long a piece can letters, syllables or signs repeat so often.
_LONG_PIECE = re.compile(r"[^ \n]{24}")
_SAME_LETTERS = regex.compile(r"(\p{L})\1{39,}")
_SAME_SYLLABLES = regex.compile(r"(\p{L}{2,12}?)\1{11,}")
_SAME_SIGNS = regex.compile(r"([^\s\p{L}\-_=.*~─━·•])\1{79,}")
_MOJIBAKE = regex.compile(
    r"(?:[ÐÑ][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2010-\u203a\u20ac\u2122]){4,}"
    r"|(?:[РС][\u00a0-\u00bf‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•™љ›њќћџ]){5,}"
)
_EMOJI = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]")
_EMOJI_FLOOD = 80

# Whole lines of base64 or hex: large, small and digits mixed, without a space.
_ENCODED = regex.compile(
    r"(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*\d)[A-Za-z0-9+/]{60,}={0,2}(?:\n[A-Za-z0-9+/]{4,}={0,2})*|(?:[0-9a-f]{2}){40,}"
)
_STACKED_MARK = regex.compile(r"[\u0300-\u036F\u0489\u20D0-\u20DC]")
_LEAST_TWICE = 32
_LONGEST_TWICE = 120
_LEAST_PIECES_TWICE = 3

_WORD = regex.compile(r"[\p{L}\p{N}]+")
_ENDLESS_WORD = regex.compile(r"(?<![\p{L}/.\-_=&?%#])\p{L}{160,}")
_MIXED_WORD = regex.compile(r"\b(?=\w{0,30}[A-Za-z]{2})(?=\w{0,30}\p{Cyrillic}{2})[\p{L}]{5,40}\b")
_SCRIPTS = SCRIPTS.keys() - {"kana"}
_LATIN_PAIR = re.compile(r"[A-Za-z]{2}")


def is_looping(text: str) -> bool:
    """The same words, syllables or signs over and over."""
    if _LONG_PIECE.search(text) and (
        _SAME_LETTERS.search(text) or _SAME_SYLLABLES.search(text) or _SAME_SIGNS.search(text)
    ):
        return True
    if _is_emoji_flood(text) or _repeats_lines(text):
        return True
    words = _WORD.findall(text)
    if len(words) < _LEAST_LOOP_WORDS:
        return False
    words = [word.casefold() for word in words]
    if len(words) - len(set(words)) < _LEAST_LOOP_REPEATS:
        return False
    for period in range(1, min(_LONGEST_UNIT_WORDS, len(words) // _REPEATS) + 1):
        needed = max(_LEAST_LOOP_WORDS, _REPEATS * period) - period
        run = 0
        for earlier, later in zip(words, words[period:], strict=False):
            run = run + 1 if earlier == later else 0
            if run >= needed and not later.isdigit():
                return True
    return False


def is_garbled(text: str) -> bool:
    """Broken encoding, four scripts at once, words of two alphabets, words without end, signs without words."""
    seen = visible_text(text)
    if seen.count("\ufffd") >= 3 or _MOJIBAKE.search(text) or _ENDLESS_WORD.search(text):
        return True
    if _ENCODED.fullmatch(text.strip()) or len(_STACKED_MARK.findall(text)) * 2 >= max(len(seen), 20):
        return True
    if not seen.isascii() and sum(n >= 3 for name, n in count_scripts(seen).items() if name in _SCRIPTS) >= 4:
        return True
    if _LATIN_PAIR.search(text) and len(_MIXED_WORD.findall(text)) * 4 >= max(len(_WORD.findall(text)), 8):
        return True
    return len(seen) >= 80 and sum(map(str.isalnum, seen)) * 5 < len(seen) and not _is_mostly_emoji(seen)


def _is_emoji_flood(text: str) -> bool:
    if len(text) < _EMOJI_FLOOD:
        return False
    return len(_EMOJI.findall(text)) >= _EMOJI_FLOOD and sum(map(str.isalnum, text)) * 4 < len(text)


def is_said_twice(text: str) -> bool:
    """Every piece stands there twice in a row, as from a stream whose chunks came twice."""
    if len(text) < _LEAST_TWICE or len(text) % 2 or not _begins_twice(text):
        return False
    if sum(map(str.isalpha, text)) < _LEAST_TWICE // 2:
        return False
    ends = {0: 0}  # positions up to which all is doubled, with how many pieces that took
    furthest = 0
    for start in range(0, len(text), 2):
        if start not in ends:
            if furthest < start:
                return False
            continue
        for size in range(1, min(_LONGEST_TWICE, (len(text) - start) // 2) + 1):
            if text.startswith(text[start : start + size], start + size):
                ends[start + 2 * size] = max(ends.get(start + 2 * size, 0), ends[start] + 1)
                furthest = max(furthest, start + 2 * size)
    return ends.get(len(text), 0) >= _LEAST_PIECES_TWICE


def _begins_twice(text: str) -> bool:
    at = text.find(text[0], 1)
    while 0 < at <= min(_LONGEST_TWICE, len(text) // 2):
        if text.startswith(text[:at], at):
            return True
        at = text.find(text[0], at + 1)
    return False


def _repeats_lines(text: str) -> bool:
    if text.count("\n") < _REPEATS - 1:
        return False
    lines = Counter(line.strip() for line in text.split("\n") if len(line.strip()) >= 12)
    return any(count >= _REPEATS for count in lines.values())


def _is_mostly_emoji(seen: str) -> bool:
    return len(_EMOJI.findall(seen)) * 2 >= len(seen)
