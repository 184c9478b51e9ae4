"""The brackets in which a model writes what is no words: `[BUTTONS: ...]`, `[LINK: ...]`; shared by their readers.

A block begins with a key in brackets and ends with the bracket's own partner, else where its line ends: the words
around it are the customer's. All of it is looked for in the copy that `bot.text.confusables` makes.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import regex

OPEN = r"(?P<open>[\[({<]{1,3})\s{0,3}"
DRESS = r"[*_`\"']{0,3}"
SIGN = r"\s{0,3}[:=]"
# What follows the key in brackets: a sign, the closing bracket, or (`loose`) anything else that is no letter.
AFTER_KEY = rf"{DRESS}(?:{SIGN}|(?P<bare>\s?[\])}}>]{{1,2}})|(?P<loose>\s{{0,3}}[|–—→-]|\s(?=\S)))"
LINE_START = regex.compile(r"(?:[ \t*_`•-]|\d{1,2}[.)]){0,6}")
DRESSING = " \t\r*_`\"'«»“”•·;,[](){}<>"
BAR_OR_LINE = regex.compile(r"[|\n]")
MARK = "\0"  # stands where a block was cut out

_MOST_ON_A_LINE = 4000
_MOST_ACROSS_LINES = 1300  # two addresses with their titles
_RESIDUE = DRESSING + MARK + "-–—:|"
_AROUND_MARK = regex.compile(r"(?<![ \t])[ \t]*+\0[ \t]*+")
_BEFORE_STOP = regex.compile(r"(?<![ \t])[ \t]*+\0[ \t]*+(?=[.,!?;:…])")
_BLANK_LINES = regex.compile(r"\n{3,}")
_BRACKET = regex.compile(r"[\[\](){}<]|(?<![-=])>")
_PARTNERS = {"[": "]", "(": ")", "{": "}", "<": ">"}
_STRAY_END = regex.compile(r"\s{0,3}[\])}>]{1,2}")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a block stands, and from where to where it says something."""

    start: int
    end: int
    said_from: int
    said_to: int
    closed: bool


class Brackets:
    """Which bracket of a text closes which."""

    def __init__(self, folded: str) -> None:
        self._folded = folded
        self._partner: dict[int, int] = {}
        self._stray: list[int] = []  # closing brackets that close nothing
        waiting: dict[str, list[int]] = {closer: [] for closer in _PARTNERS.values()}
        for found in _BRACKET.finditer(folded):
            sign = found[0]
            if closer := _PARTNERS.get(sign):
                waiting[closer].append(found.start())
            elif waiting[sign]:
                self._partner[waiting[sign].pop()] = found.start()
            else:
                self._stray.append(found.start())

    def span(self, opened: tuple[int, int], said_from: int, *, before: int, may_go_on: Callable[[str], bool]) -> Span:
        """The block whose brackets stand at `opened` and whose words begin at `said_from`.

        One that is never closed ends with its line, and `before` the next block. `may_go_on` is asked whether what
        stands on several lines is all the block's own.
        """
        first, last = opened[0], opened[1] - 1
        line_end = end_of_line(self._folded, said_from)
        partner = self._partner.get(last, -1)
        if said_from <= partner <= min(line_end, said_from + _MOST_ON_A_LINE) or (
            line_end < partner <= said_from + _MOST_ACROSS_LINES and may_go_on(self._folded[said_from:partner])
        ):
            return self._widened(Span(last, partner + 1, said_from, partner, closed=True), first)
        said_to = min(line_end, before)
        stray = bisect_left(self._stray, said_from)
        if stray < len(self._stray) and self._stray[stray] < said_to:
            said_to = self._stray[stray]
        return Span(first, self.after_stray(said_to), said_from, said_to, closed=False)

    def after_stray(self, at: int) -> int:
        """Behind the closing brackets at `at`, which close nothing else or not what stands there."""
        end = _STRAY_END.match(self._folded, at)
        return end.end() if end else at

    def _widened(self, span: Span, first: int) -> Span:
        """With the brackets right around it: "[[...]]", and those that were written once too often."""
        start, end = span.start, span.end
        while start > first and self._partner.get(start - 1, end) == end:
            end += start - 1 in self._partner
            start -= 1
        stray = bisect_left(self._stray, end)
        if stray < len(self._stray) and self._stray[stray] == end:
            end += 1
        return Span(start, end, span.said_from, span.said_to, closed=True)


def fields_of(said: str, folded: str) -> list[tuple[str, str]]:
    """`said` parted at bars and line ends, each piece with its copy in `folded`."""
    borders = [-1, *(bar.start() for bar in BAR_OR_LINE.finditer(folded)), len(folded)]
    return [(said[a + 1 : b], folded[a + 1 : b]) for a, b in pairwise(borders)]


def end_of_line(folded: str, at: int) -> int:
    end = folded.find("\n", at)
    return len(folded) if end < 0 else end


def is_at_line_start(folded: str, start: int) -> int | None:
    """Where the line begins, if only dressing stands on it before `start`."""
    line = folded.rfind("\n", max(0, start - 8), start) + 1
    if line == 0 and start > 7:
        return None
    return line if LINE_START.fullmatch(folded, line, start) else None


def is_shouted(key: str) -> bool:
    """In capitals, be it that a small letter looks like one."""
    return sum(map(str.isupper, key)) * 2 > len(key)


def without_spans(text: str, spans: list[Span]) -> str:
    """`text` without what stands at `spans`, which are in order."""
    pieces, position = [], 0
    for span in spans:
        pieces.append(text[position : span.start])
        position = span.end
    return without_marks(MARK.join([*pieces, text[position:]]))


def without_marks(text: str) -> str:
    """`text` with its marks gone, and so are the lines that hold nothing else."""
    lines = [
        line if MARK not in line else _AROUND_MARK.sub(" ", _BEFORE_STOP.sub("", line)).strip()
        for line in text.split("\n")
        if MARK not in line or line.strip(_RESIDUE)
    ]
    return str(_BLANK_LINES.sub("\n\n", "\n".join(lines))).strip()


def utf16_units(text: str) -> int:
    """What Meta counts as characters: an emoji takes two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
