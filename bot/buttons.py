"""Answers that a customer may tap: `[BUTTONS: a | b | c]` in a reply, read tolerantly, never shown as text.

They go out as quick replies of the reply's last message. Where they cannot, the reply stands without them: nothing of
what it says may hang on a button.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from bot.blocks import CLOSE, DRESS, DRESSING, MARK, OPEN, SIGN, utf16_units, without_marks
from bot.keyed_patterns import KeyedPattern
from bot.visible import is_blank, visible_text

# What both channels take; longer titles are cut by Meta in the middle of a word.
MOST_BUTTONS = 13
TITLE_CHARS = 20
SEPARATOR = "|"

_KEY = r"(?:(?i:BUTTONS?|QUICK[ _]?REPL(?:Y|IES))|КНОПКИ?)"
_SHOUTED = r"(?:BUTTONS?|QUICK[ _]?REPL(?:Y|IES)|КНОПКИ?)"
_BLOCK = KeyedPattern(
    rf"{OPEN}{DRESS}{_KEY}{DRESS}{SIGN}(?P<titles>[^\[\]［］【】{{}}<>]{{0,600}}+){CLOSE}"
    rf"|{OPEN}{DRESS}{_KEY}{DRESS}{SIGN}(?P<open>[^\n]*)"  # one that was never closed goes to the end of its line
    rf"|^[ \t*_`]{{0,6}}{_SHOUTED}{DRESS}{SIGN}(?P<line>[^\n]*[|｜][^\n]*)$"
    rf"|{OPEN}/?{_SHOUTED}\s?{CLOSE}",
    regex.MULTILINE,
    keys="button, quick, кнопк",
)
_BETWEEN = regex.compile(r"[|｜\n]")
_NUMBERED = regex.compile(r"^\d{1,2}[.)]\s+")
_UNFIT = regex.compile(
    r"https?://|[\[\]{}<>|]|(?:VERDICT|TASK|STAGE)\s?[:=]|[\p{Cc}\p{Cs}\p{Cf}&&[^\u200D]]", regex.VERSION1
)


@dataclass(frozen=True, slots=True)
class WithoutButtons:
    """`found` says that something was cut, be it of no use."""

    text: str
    titles: tuple[str, ...]
    found: bool


def take_buttons(text: str) -> WithoutButtons:
    """Cut every block out of `text`; of several the last one counts."""
    titles: tuple[str, ...] = ()
    found = False
    for match in _BLOCK.find_all(text):
        found = True
        written = match["titles"] or match["open"] or match["line"] or ""
        titles = titles_of(_BETWEEN.split(written)) or titles
    if not found:
        return WithoutButtons(text, (), found=False)
    return WithoutButtons(without_marks(_BLOCK.sub(MARK, text)), titles, found=True)


def titles_of(written: Sequence[str]) -> tuple[str, ...]:
    """What of it can be a button: short, readable, once each."""
    titles: dict[str, str] = {}
    for raw in written:
        title = _NUMBERED.sub("", raw.strip(DRESSING)).strip(DRESSING)
        if is_blank(title) or _UNFIT.search(title) or not visible_text(title):
            continue
        titles.setdefault(title.casefold(), cut_title(title))
    return tuple(titles.values())[:MOST_BUTTONS]


def cut_title(title: str) -> str:
    """At a word, if one ends in time; by UTF-16 units, of which an emoji takes two."""
    if utf16_units(title) <= TITLE_CHARS:
        return title
    kept = ""
    for cluster in regex.findall(r"\X", title):
        if utf16_units(kept + cluster) > TITLE_CHARS - 1:
            break
        kept += cluster
    words = kept.rsplit(" ", 1)[0] if " " in kept.strip() else kept
    return (words if len(words) >= TITLE_CHARS // 2 else kept).rstrip(" ,.;:") + "…"
