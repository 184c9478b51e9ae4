"""Answers that a customer may tap: `[BUTTONS: a | b | c]` in a reply, read tolerantly, never shown as text.

They go out as quick replies of the reply's last message. Where they cannot, the reply stands without them: nothing of
what it says may hang on a button.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from bot.visible import is_blank, visible_text

# What both channels take; longer titles are cut by Meta in the middle of a word.
MOST_BUTTONS = 13
TITLE_CHARS = 20
SEPARATOR = "|"

_KEY = r"(?:(?i:BUTTONS?|QUICK[ _]?REPL(?:Y|IES))|КНОПКИ?)"
_SHOUTED = r"(?:BUTTONS?|QUICK[ _]?REPL(?:Y|IES)|КНОПКИ?)"
_OPEN, _CLOSE = r"[\[［【{<]{1,2}\s{0,3}", r"[\]］】}>]{1,2}"
_DRESS = r"[*_`\"']{0,3}"
_SIGN = r"\s{0,3}[:=：]"
_BLOCK = regex.compile(
    rf"{_OPEN}{_DRESS}{_KEY}{_DRESS}{_SIGN}(?P<titles>[^\[\]［］【】{{}}<>]{{0,600}}+){_CLOSE}"
    rf"|{_OPEN}{_DRESS}{_KEY}{_DRESS}{_SIGN}(?P<open>[^\n]*)"  # one that was never closed goes to the end of its line
    rf"|^[ \t*_`]{{0,6}}{_SHOUTED}{_DRESS}{_SIGN}(?P<line>[^\n]*[|｜][^\n]*)$"
    rf"|{_OPEN}/?{_SHOUTED}\s?{_CLOSE}",
    regex.MULTILINE,
)
_BETWEEN = regex.compile(r"[|｜\n]")
_DRESSING = " \t\r*_`\"'«»“”•·;,[](){}<>"
_NUMBERED = regex.compile(r"^\d{1,2}[.)]\s+")
_UNFIT = regex.compile(r"https?://|[\[\]{}<>|]|(?:VERDICT|TASK|STAGE)\s?[:=]|[\p{Cc}\p{Cf}&&[^\u200D]]", regex.VERSION1)


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
    for match in _BLOCK.finditer(text):
        found = True
        written = match["titles"] or match["open"] or match["line"] or ""
        titles = titles_of(_BETWEEN.split(written)) or titles
    if not found:
        return WithoutButtons(text, (), found=False)
    lines = [line for line in _BLOCK.sub("\0", text).split("\n") if line.strip(_DRESSING + "\0") or "\0" not in line]
    rest = regex.sub(r"[ \t]*\0[ \t]*", " ", "\n".join(lines))
    return WithoutButtons(str(regex.sub(r"\n{3,}", "\n\n", rest)).strip(), titles, found=True)


def titles_of(written: Sequence[str]) -> tuple[str, ...]:
    """What of it can be a button: short, readable, once each."""
    titles: dict[str, str] = {}
    for raw in written:
        title = _NUMBERED.sub("", raw.strip(_DRESSING)).strip(_DRESSING)
        if is_blank(title) or _UNFIT.search(title) or not visible_text(title):
            continue
        titles.setdefault(title.casefold(), _cut(title))
    return tuple(titles.values())[:MOST_BUTTONS]


def _cut(title: str) -> str:
    """At a word, if one ends in time; by UTF-16 units, of which an emoji takes two."""
    if _units(title) <= TITLE_CHARS:
        return title
    kept = ""
    for cluster in regex.findall(r"\X", title):
        if _units(kept + cluster) > TITLE_CHARS - 1:
            break
        kept += cluster
    words = kept.rsplit(" ", 1)[0] if " " in kept.strip() else kept
    return (words if len(words) >= TITLE_CHARS // 2 else kept).rstrip(" ,.;:") + "…"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
