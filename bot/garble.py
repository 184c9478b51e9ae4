"""Text that has come apart: endless repetition, mojibake, a salad of scripts."""

from collections import Counter

import regex

from bot.visible import visible_text

# A refrain may come four times; nobody says the same thing six times in a row.
_REPEATS = 6
_LONGEST_UNIT_WORDS = 40
_LEAST_LOOP_WORDS = 24

_SAME_LETTERS = regex.compile(r"(\p{L})\1{39,}")
_SAME_SYLLABLES = regex.compile(r"(\p{L}{2,12}?)\1{11,}")
_SAME_SIGNS = regex.compile(r"([^\s\p{L}\-_=.*~─━·•])\1{79,}")
_MOJIBAKE = regex.compile(
    r"(?:[ÐÑ][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2010-\u203a\u20ac\u2122]){4,}"
    r"|(?:[РС][\u00a0-\u00bf‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•™љ›њќћџ]){5,}"
)
_WORD = regex.compile(r"[\p{L}\p{N}]+")
_ENDLESS_WORD = regex.compile(r"(?<![\p{L}/.\-_=&?%#])\p{L}{160,}")
_MIXED_WORD = regex.compile(r"\b(?=\w{0,30}[A-Za-z]{2})(?=\w{0,30}\p{Cyrillic}{2})[\p{L}]{5,40}\b")
_SCRIPTS = [
    regex.compile(rf"[\p{{{script}}}]")
    for script in (
        "Latin", "Cyrillic", "Han", "Arabic", "Hangul", "Hebrew", "Thai", "Devanagari", "Greek", "Georgian", "Armenian",
    )
]  # fmt: skip


def is_looping(text: str) -> bool:
    """The same words, syllables or signs over and over."""
    if _SAME_LETTERS.search(text) or _SAME_SYLLABLES.search(text) or _SAME_SIGNS.search(text):
        return True
    words = [word.casefold() for word in _WORD.findall(text)]
    if _repeats_lines(text):
        return True
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
    if sum(len(pattern.findall(seen)) >= 3 for pattern in _SCRIPTS) >= 4:
        return True
    if len(_MIXED_WORD.findall(text)) * 4 >= max(len(_WORD.findall(text)), 8):
        return True
    return len(seen) >= 80 and sum(map(str.isalnum, seen)) * 5 < len(seen) and not _is_mostly_emoji(seen)


def _repeats_lines(text: str) -> bool:
    lines = Counter(line.strip() for line in text.split("\n") if len(line.strip()) >= 12)
    return any(count >= _REPEATS for count in lines.values())


def _is_mostly_emoji(seen: str) -> bool:
    return len(regex.findall(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]", seen)) * 2 >= len(
        seen
    )
