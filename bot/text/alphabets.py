"""What the characters of a text are: of which script, letters or not, and the languages that some of them betray."""

from collections import Counter
from typing import Final

import regex

EAST_ASIAN: Final = frozenset({"han", "kana", "hangul", "thai"})
SCRIPTS: Final = {
    "cyrillic": r"\p{Cyrillic}",
    "latin": r"\p{Latin}",
    "arabic": r"\p{Arabic}",
    "han": r"\p{Han}",
    "kana": r"[\p{Hiragana}\p{Katakana}]",
    "hangul": r"\p{Hangul}",
    "hebrew": r"\p{Hebrew}",
    "greek": r"\p{Greek}",
    "georgian": r"\p{Georgian}",
    "armenian": r"\p{Armenian}",
    "thai": r"\p{Thai}",
    "devanagari": r"\p{Devanagari}",
}
LETTER: Final = "letter"

_SCRIPT = regex.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in SCRIPTS.items()))
_LETTER = regex.compile(r"\p{L}")


def _both_cases(letters: str) -> frozenset[str]:
    return frozenset(letters) | {letter.upper() for letter in letters if len(letter.upper()) == 1}


# Letters that one language has and its neighbours have not.
_TELLING: Final = {
    "kazakh": _both_cases("әғқңөұүһ"),
    "ukrainian": _both_cases("іїєґ"),
    "russian": _both_cases("ыэъё") | {"\u1c86"},  # the tall hard sign
    "other_cyrillic": _both_cases("ўђјљњћџѓќѕ"),
    "turkish": frozenset("ğışİ"),
    "other_latin": _both_cases("əäßñãõłęąćżźřěůžčșțåæø") | {"\u1e9e", "\u212b"},  # capital ß, the sign for ångström
    "persian": frozenset("پچژگکیےٹڈڑں"),
}

# So many different characters are more than any honest talk needs; the rest are looked up each time.
_MOST_KEPT: Final = 4096


class _Kinds(dict[str, tuple[str, ...]]):
    """By character: everything it counts as."""

    def __missing__(self, char: str) -> tuple[str, ...]:
        script = _SCRIPT.match(char)
        kinds = [script.lastgroup] if script and script.lastgroup else []
        if _LETTER.match(char):
            kinds.append(LETTER)
        kinds += [name for name, letters in _TELLING.items() if char in letters]
        found = tuple(kinds)
        if len(self) < _MOST_KEPT:
            self[char] = found
        return found


_kinds = _Kinds()


def count_kinds(text: str) -> dict[str, int]:
    """How many characters of `text` are of each script, letters, and of the letters that tell a language."""
    counts: dict[str, int] = {}
    for kinds, number in Counter(map(_kinds.__getitem__, text)).items():
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + number
    return counts


def count_scripts(text: str) -> dict[str, int]:
    """Of `count_kinds` the scripts alone."""
    return scripts_in(count_kinds(text))


def scripts_in(kinds: dict[str, int]) -> dict[str, int]:
    """In the order of `SCRIPTS`, those that are there."""
    return {name: kinds[name] for name in SCRIPTS if name in kinds}
