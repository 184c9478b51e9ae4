"""Emptiness: could a customer read anything at all in this text?"""

import re

import regex

# Categories alone do not do: the braille blank is a symbol and the Hangul fillers are letters, yet they are invisible.
# Unassigned code points stay, since they may be emoji newer than our tables.
_INVISIBLE = regex.compile(
    r"[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zs}\p{Zl}\p{Zp}"
    r"\uFE00-\uFE0F\U000E0000-\U000E0FFF\u180B-\u180F\u034F\u17B4\u17B5"
    r"\u2800\u115F\u1160\u3164\uFFA0]+"
)

# Box drawing and the replacement character are symbols by category, but they say nothing.
_READABLE = regex.compile(
    r"(?![\u2500-\u259F\uFFFC\uFFFD])"
    r"[\p{L}\p{N}\p{So}\p{Sc}\p{Extended_Pictographic}\p{Emoji_Modifier}\u20E3+%\u00B1\u00D7\u00F7\u221A\u221E\u2248]"
)

_EMOTICON = regex.compile(r"[:;=]['\u2019]?-?[)(\]\[*/]{1,5}")

# What programs write for "nothing". Exact spellings only: "None." may be an answer to "how many are left?".
_NOTHING = frozenset({"null", "NULL", "Null", "None", "none", "undefined", "NaN", "nan", "nil", "void", "br"})

# Most texts: a letter that no word for nothing has, or more letters in a row than the longest of them.
_CERTAINLY_WORDS = re.compile(r"[а-яА-ЯёЁ]|(?:[A-Za-z] ?){10}")

_WRAPPING = "\"'`*_~#<>{}[]()«»„“”‘’|/\\- \t\n"


def visible_text(text: str) -> str:
    """A copy without everything that takes no ink: for measuring, never for sending."""
    return str(_INVISIBLE.sub("", "".join(text.split())))


def is_blank(text: str) -> bool:
    """True when a customer could read nothing in `text`.

    One letter, digit, emoji or currency sign is enough to be read; punctuation and markup alone are not, and neither
    are the words that programs write for nothing ("null", "None").
    """
    if _CERTAINLY_WORDS.search(text):
        return False
    seen = visible_text(text)
    if _READABLE.search(seen) is None:
        return _EMOTICON.fullmatch(seen) is None
    return len(seen) < 40 and seen.strip(_WRAPPING) in _NOTHING
