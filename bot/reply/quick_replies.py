"""Answers that a customer may tap: `[BUTTONS: a | b | c]` in a reply, read tolerantly, never shown as text.

They go out as quick replies of the reply's last message. Where they cannot, the reply stands without them: nothing of
what it says may hang on a button.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from bot.reply.brackets import (
    AFTER_KEY,
    DRESS,
    DRESSING,
    OPEN,
    SIGN,
    Brackets,
    Span,
    end_of_line,
    fields_of,
    is_at_line_start,
    is_shouted,
    utf16_units,
    without_spans,
)
from bot.text.confusables import fold_confusables
from bot.text.keyed_patterns import KeyedPattern
from bot.text.visible import is_blank, visible_text

# What both channels take; longer titles are cut by Meta in the middle of a word.
MOST_BUTTONS = 13
TITLE_CHARS = 20
MOST_CHARS, MOST_LINES = 600, 2 * MOST_BUTTONS  # of a block on several lines

_KEY = r"(?P<key>BUTTONS?|QUICK[ _]?REPL(?:Y|IES)|КНОПК[ИА])"
_HEAD = KeyedPattern(
    rf"{OPEN}{DRESS}(?P<ends>/?){_KEY}{AFTER_KEY}|(?<![\w/])(?-i:{_KEY}){DRESS}{SIGN}",
    regex.IGNORECASE,
    keys="button, quick, кнопк",
)
_ENDING = regex.compile(r"(?P<said>[^\n\[\]{}<>]{0,600}+)[\[{<]/\w{3,12}[\]}>]")
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
    folded = fold_confusables(text)
    heads = _HEAD.find_all(folded)
    if not heads:
        return WithoutButtons(text, (), found=False)
    titles: tuple[str, ...] = ()
    spans: list[Span] = []
    brackets = Brackets(folded)
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        if spans and head.start() < spans[-1].end:
            continue
        before = following.start() if following else len(folded)
        span = _bracketed(folded, head, brackets, before) if head["open"] else _line(folded, head)
        if span is not None:
            spans.append(span)
            titles = _titles_in(text, folded, span) or titles
    if not spans:
        return WithoutButtons(text, (), found=False)
    return WithoutButtons(without_spans(text, spans), titles, found=True)


def _bracketed(folded: str, head: "regex.Match[str]", brackets: Brackets, before: int) -> Span | None:
    """A block of ours, or None for prose: a Russian word is our key only where two titles follow it."""
    key: str = head["key"]
    strong = head["open"] != "(" * len(head["open"])
    if head["bare"]:
        ending = None if head["ends"] else _ENDING.match(folded, head.end())
        if ending and "|" in ending["said"]:
            return Span(head.start(), ending.end(), *ending.span("said"), closed=True)
        alone = strong and is_shouted(key) and key.isascii()
        return Span(head.start(), head.end(), head.end(), head.end(), closed=True) if alone else None
    span = brackets.span(head.span("open"), head.end(), before=before, may_go_on=_are_titles)
    said = folded[span.said_from : span.said_to]
    if head["loose"] is not None:
        return span if is_shouted(key) and span.closed and "|" in said.lstrip("| ") else None
    if "|" in said or (strong and key.isascii()):
        return span if strong or span.closed else None
    if "[" in said or not (strong and is_shouted(key)):
        return None
    lines = said.split("\n")
    return span if len(lines) <= MOST_LINES and len(titles_of(lines)) > 1 else None


def _line(folded: str, head: "regex.Match[str]") -> Span | None:
    """A line of titles; behind a Russian word none of them is longer than a button."""
    start = is_at_line_start(folded, head.start())
    if start is None:
        return None
    end = end_of_line(folded, head.end())
    titles = folded[head.end() : end].split("|")
    fits = head["key"].isascii() or all(utf16_units(title.strip(DRESSING)) <= TITLE_CHARS for title in titles)
    return Span(start, end, head.end(), end, closed=False) if len(titles) > 1 and fits else None


def _are_titles(said: str) -> bool:
    """Whether lines are one block's: each short enough for a button, or joined to the next by a bar."""
    if len(said) > MOST_CHARS or said.count("\n") > MOST_LINES:
        return False
    lines = [line.strip() for line in said.split("\n")]
    return all(
        utf16_units(line.strip(DRESSING)) <= TITLE_CHARS or line.startswith("|") or line.endswith("|")
        for line in lines[1:]
    )


def _titles_in(text: str, folded: str, span: Span) -> tuple[str, ...]:
    said = slice(span.said_from, span.said_to)
    return titles_of([title for title, _ in fields_of(text[said], folded[said])])


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
