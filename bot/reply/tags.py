"""The tags that close a reply: read tolerantly, never shown to a customer.

Asked for is one last line such as `[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]`. Read is every shape in
which models return it: brackets of any kind or none, other case, Russian keys, look-alike letters, fences, `=`, one
tag a line, all in one bracket. Prose that happens to hold such a word ("Этап: примерка", "[скидка]") is left alone.
"""

import re
from dataclasses import dataclass
from functools import cache

import regex

from bot.reply.quick_replies import take_buttons
from bot.reply.rich_content import NO_RICH_CONTENT, RichContent, take_rich_content
from bot.reply.tag_values import DEFAULT_TASK, DEFAULT_VERDICT, TAG_KEYS, parse_value
from bot.text.confusables import fold_confusables

# A rewrite that unfolds more often than this was built to: its lines are dropped whole.
_MAX_PASSES = 4

_ALIASES = {"ВЕРДИКТ": "VERDICT", "ЗАДАЧА": "TASK", "ЭТАП": "STAGE", "СТАДИЯ": "STAGE"}

_DRESSING = " *_`\"'«»"
_OPENERS, _CLOSERS = "[({<", "])}>"
_VALUE = regex.compile(r"[^\n\[\](){}<>;,]{0,120}")
_REST_OF_BLOCK = regex.compile(r"[^\n\[\](){}<>]{0,120}[\])}>]{1,3}")
_CODE_LIKE = regex.compile(r"[A-Z]{2,}(?:[A-Z_|:/ ]*[A-Z])?\W{0,3}")
_SEPARATORS = regex.compile(r"[\s;,|/*_`\"'.·•\-]*")

_CUT = "\x00"
_CUT_RUN = regex.compile(r"\x00(?:[\s;,|/·•*_`\"'\-]*+\x00)+")
_CUT_DRESSED = regex.compile(
    r"(?:```[\w]{0,12}\s{0,3}|[`*_\"'«]{1,3}|[\[({<])\s{0,3}\x00\s{0,3}(?:\s?```|[`*_\"'»]{1,3}|[\])}>])"
)
_CUT_LABEL = regex.compile(r"^\W{0,4}(?:теги|tags?|метки|служебн\w{1,3} теги)\W{0,4}\x00", regex.M | regex.I)
_CUT_IN_LINE = regex.compile(r"(?<![^\S\n])[^\S\n]*+\x00[^\S\n]*+")
_LOOSE = regex.compile(r"\[\s?(?:VERDICT|TASK|STAGE)[ \-–—#][^\n\[\](){}<>:=]{0,40}\]")
_CUT_BEFORE_STOP = regex.compile(r"(?<![^\S\n])[^\S\n]*+\x00[^\S\n]*+(?=[.,!?;:…])")
_RESIDUE = _CUT + " \t\r*_`\"'«»-•.;,:|#>{}[]()<>/"
_TRUNCATED = regex.compile(
    r"[\[{<]\s?(?:VERD\w{0,3}|VER|TASK?|TAS|STAG?E?|STA|ВЕРД\w{0,3}|ЗАДА\w{0,2}|ЭТАП?|ЭТА|BUTT\w{0,3}|КНОП\w{0,2}"
    r"|LIN|LINKS?|IMAG?E?|FILE?|REAC?T?|ССЫЛ\w{0,2})\s?\Z"
)


@dataclass(frozen=True, slots=True)
class TaggedReply:
    """A reply without its tags, and what they said.

    `verdict` and `task` fall back to their defaults, `stage` to the previous one; `missing` lists the keys that had no
    valid value, `invalid` counts recognised tags whose value was not.
    `buttons` are answers for the customer to tap, `rich_content` is what else comes with the words.
    """

    text: str
    verdict: str
    task: str
    stage: str
    missing: tuple[str, ...]
    invalid: int
    buttons: tuple[str, ...] = ()
    rich_content: RichContent = NO_RICH_CONTENT


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    key: str
    value: str | None
    counts: bool = True  # False for the closing half of <STAGE>...</STAGE>


def parse_tags(text: str, *, previous_stage: str = "CONSULT") -> TaggedReply:
    """Cut all tags from `text` and read them; of several valid values of a key the last one counts."""
    found: dict[str, str] = {}
    invalid = 0
    parted = take_buttons(text.replace(_CUT, ""))
    laid = take_rich_content(parted.text)
    cut = laid.text
    for _ in range(_MAX_PASSES):
        tags = _find_tags(cut)
        if not tags:
            break
        found.update({tag.key: tag.value for tag in tags if tag.value is not None})
        invalid += sum(tag.value is None and tag.counts for tag in tags)
        cut = _cut_spans(cut, tags)
    # Cutting tags may have closed what was open.
    guarded = take_rich_content(take_buttons(_guard(cut)).text).text
    return TaggedReply(
        text=guarded,
        verdict=found.get("VERDICT", DEFAULT_VERDICT),
        task=found.get("TASK", DEFAULT_TASK),
        stage=found.get("STAGE", previous_stage),
        missing=tuple(key for key in TAG_KEYS if key not in found),
        invalid=invalid,
        buttons=parted.titles,
        rich_content=laid.rich_content,
    )


def neutralise_tags(text: str) -> str:
    """Customer text with full-width signs where it imitates a tag, so that the model takes it for the quote it is."""
    folded = fold_confusables(text)
    hits = list(_key_pattern().finditer(folded))
    if not hits:
        return text
    signs = list(text)
    for hit in hits:
        opener = _opener_before(folded, hit.start())
        if opener is not None:
            signs[opener] = chr(ord(folded[opener]) + 0xFEE0)
        if hit["key"].isupper() and hit["sign"] and (opener is not None or hit["key"] in TAG_KEYS):
            signs[hit.start("sign")] = chr(ord(hit["sign"][0]) + 0xFEE0) if hit["sign"] in ":=" else "\u2013"
    return "".join(signs)


@cache
def _key_pattern() -> "regex.Pattern[str]":
    keys = "|".join(regex.escape(key) for key in sorted({*TAG_KEYS, *_ALIASES}, key=len, reverse=True))
    dressing = r"[\"'*_`]{0,3}[ ]{0,3}"
    sign = r"(?:[\])}]{1,2}(?=[ ]?[:=]))?[ ]?(?P<sign>[:=>]|-{1,2}>?|[–—→])"
    return regex.compile(
        rf"(?<![^\W_])(?P<key>{keys})(?:{dressing}{sign}{dressing}|[ ]?(?P<bare>(?=[\])}}>]|\Z)))", regex.IGNORECASE
    )


def _find_tags(text: str) -> list[_Tag]:
    folded = fold_confusables(text)
    hits = list(_key_pattern().finditer(folded))
    tags = [_Tag(loose.start(), loose.end(), "STAGE", None) for loose in _LOOSE.finditer(folded)]
    last: _Tag | None = None
    for index, hit in enumerate(hits):
        following = hits[index + 1].start() if index + 1 < len(hits) else len(folded)
        tag = _read_hit(folded, hit, following, last)
        if tag is not None:
            last = tag
            tags.append(tag)
    truncated = _TRUNCATED.search(folded)
    if truncated:
        tags.append(_Tag(truncated.start(), len(text), "VERDICT", None))
    return sorted(tags, key=lambda tag: tag.start)


def _read_hit(folded: str, hit: "regex.Match[str]", following: int, last: _Tag | None) -> _Tag | None:
    """The tag at this key, or None where the key is a word of the prose."""
    word: str = hit["key"]
    key = _ALIASES.get(word.upper(), word.upper())
    opener = _opener_before(folded, hit.start(), last.end if last else 0)
    if hit["sign"] == ">" and (opener is None or folded[opener] != "<"):
        return None  # ">" is a sign only in <STAGE>CONSULT</STAGE>
    if opener is not None and folded[opener] == "<" and "/" in folded[opener : hit.start()]:
        return _Tag(opener, min(hit.end() + (hit["bare"] is not None), len(folded)), key, None, counts=False)
    chunk = _VALUE.match(folded, hit.end())
    value_end = min(chunk.end() if chunk else hit.end(), following)
    raw = folded[hit.end() : value_end].rstrip(_DRESSING + "|/-" + _OPENERS)
    value_end = hit.end() + len(raw)
    while value_end < len(folded) and folded[value_end] in _DRESSING:
        value_end += 1
    closed = folded[value_end : value_end + 1] in tuple(_CLOSERS)
    chained = last is not None and _SEPARATORS.fullmatch(folded, last.end, hit.start()) is not None
    is_upper = word in TAG_KEYS
    value = parse_value(key, raw)
    whole_line = _is_whole_line(folded, hit.start() if opener is None else opener, value_end)

    if value is None and (opener is not None or is_upper):
        first = raw.split(" ", 1)[0]
        value = parse_value(key, first)
        if value is not None and opener is None:
            value_end = hit.end() + len(first)
    if value is not None:
        accepted = opener is not None or closed or chained or whole_line or is_upper
    elif hit["bare"] is not None:
        accepted = is_upper and opener is not None and closed
    else:
        by_form = opener is not None and (folded[opener] != "(" and word.upper() in TAG_KEYS)
        accepted = opener is not None and (is_upper or by_form or _CODE_LIKE.fullmatch(raw) is not None)
        accepted = accepted or (chained and is_upper)
    if not accepted:
        return None
    if opener is not None or closed:
        rest = _REST_OF_BLOCK.match(folded, value_end, following)
        value_end = rest.end() if rest else value_end
    return _Tag(hit.start() if opener is None else opener, value_end, key, value)


def _opener_before(folded: str, start: int, floor: int = 0) -> int | None:
    """Where the bracket right before `start` is; dressing and a closing-tag slash may stand between."""
    at = start
    while at > max(floor, start - 6) and folded[at - 1] in _DRESSING + "/":
        at -= 1
    if at <= floor or folded[at - 1] not in _OPENERS:
        return None
    first = at - 1
    while first > max(floor, at - 4) and folded[first - 1] in _OPENERS:
        first -= 1
    return first


def _is_whole_line(folded: str, start: int, end: int) -> bool:
    line_start = folded.rfind("\n", max(0, start - 200), start) + 1
    if line_start == 0 and start > 200:
        return False
    line_end = folded.find("\n", end, end + 200)
    tail = folded[end:] if line_end < 0 and len(folded) - end <= 200 else folded[end : max(line_end, end)]
    if line_end < 0 and len(folded) - end > 200:
        return False
    return not (folded[line_start:start] + tail).strip(_DRESSING + "-•.;,|#>\r")


def _cut_spans(text: str, tags: list[_Tag]) -> str:
    pieces: list[str] = []
    position = 0
    for tag in tags:
        pieces.append(text[position : max(tag.start, position)])
        position = max(tag.end, position)
    cut = _CUT.join([*pieces, text[position:]])
    cut = _CUT_RUN.sub(_CUT, cut)
    for _ in range(3):
        cut = _CUT_DRESSED.sub(_CUT, cut)
    cut = _CUT_RUN.sub(_CUT, _CUT_LABEL.sub(_CUT, cut))
    cut = "\n".join(line for line in cut.split("\n") if not (_CUT in line and not line.strip(_RESIDUE)))
    cut = _CUT_BEFORE_STOP.sub("", cut)
    return _tidy(str(_CUT_IN_LINE.sub(" ", cut)))


def _tidy(text: str) -> str:
    lines = [line.rstrip() if line.strip() else "" for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


_TAG_LEFT = regex.compile(r"(?<![^\W_])[\[({<]{0,3}[ ]?(?:VERDICT|TASK|STAGE)[\"'*_`]{0,3}[ ]{0,3}[:=]")


def _guard(text: str) -> str:
    """The last line of defence: whatever still looks like a tag of ours goes, to the end of its line."""
    lines: list[str] = []
    for line in text.split("\n"):
        found = _TAG_LEFT.search(fold_confusables(line))
        rest = line[: found.start()].rstrip() if found else line
        lines.append("" if _find_tags(rest) else rest)
    return text if lines == text.split("\n") else _tidy("\n".join(lines))
