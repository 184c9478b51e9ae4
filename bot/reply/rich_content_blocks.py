"""Where in a reply a link, a picture, a file or a reaction is written, and where it only seems to be.

All is read in the copy that `bot.text.confusables` makes; a head is a key with what stands before and behind it.
"""

from collections.abc import Iterator
from dataclasses import replace

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
    is_at_line_start,
    is_shouted,
)
from bot.text.keyed_patterns import KeyedPattern
from bot.text.urls import ADDRESS, trimmed

TITLE_CHARS = 80  # of a link as text; as a button it is cut further
TITLE_DRESSING = DRESSING + ":=：–—-→"

# A video or a sound is a page to go to: neither channel plays one from an address.
_KINDS = {
    "LINK": "LINKS?|URLS?|VIDEOS?|AUDIO|ССЫЛК[АИ]|ВИДЕО|АУДИО",
    "IMAGE": "IMAGES?|IMG|PHOTOS?|PICTURES?|ФОТО|КАРТИНК[АИ]|ИЗОБРАЖЕНИ[ЕЯ]",
    "FILE": "FILES?|DOCUMENTS?|ФАЙЛЫ?|ДОКУМЕНТЫ?",
    "REACT": "REACT(?:ION)?|РЕАКЦИ[ЯИ]",
}
_KEY = f"(?P<key>{'|'.join(f'(?P<{kind}>{words})' for kind, words in _KINDS.items())})"
_ALONE_ON_A_LINE = ("LINK", "IMAGE", "FILE", "REACT", "ССЫЛКА")
_HEAD = KeyedPattern(
    # In brackets, behind signs that are no letters or right at the bracket; or bare, where only capitals count.
    rf"{OPEN}(?P<lead>(?:(?![\n\[\](){{}}<>|])[\W\d_]){{0,6}}){_KEY}{AFTER_KEY}"
    rf"|(?<![\w/])(?-i:{_KEY}){DRESS}(?:{SIGN}|\s{{0,3}}(?=\|))",
    regex.IGNORECASE,
    keys="link, url, video, audio, ссылк, видео, аудио, image, img, photo, picture, фото, картинк, изображени, file, "
    "document, файл, документ, react, реакци",
)
_ENDING = regex.compile(r"(?P<said>[^\n\[\]{}<>]{0,1300}+)[\[{<]/\w{3,12}[\]}>]")
_PLAIN_LEAD = regex.compile(r"[\s*_`\"'/]*")
_QUOTE_BEFORE = "«“„\"'‹|"
_QUOTE_BEHIND = regex.compile(r"[»”“\"'›|]")
_MOST_TITLE_WORDS = 5  # of a title that nothing parts from the words around it
_MOST_WITHOUT_ADDRESS = 40  # of a block on several lines
_EMOJI = regex.compile(r"[\p{Extended_Pictographic}\p{Regional_Indicator}]")
_NAMED_REACTIONS = {"love": "❤", "heart": "❤", "сердце": "❤", "like": "👍", "лайк": "👍", "smile": "😊"}


def may_hold_rich_content(folded: str) -> bool:
    return _HEAD.may_match(folded)


def rich_content_blocks(folded: str) -> Iterator[tuple[str, Span]]:
    """Kind and place of every block, in order."""
    heads = _HEAD.find_all(folded)
    if not heads:
        return
    brackets = Brackets(folded)
    end = 0
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        if head.start() < end:
            continue
        before = following.start() if following else len(folded)
        span = _bracketed(folded, head, brackets, before) if head["open"] else _bare(folded, head, before)
        if span is not None:
            end = span.end
            yield next(kind for kind in _KINDS if head[kind]), span


def _bracketed(folded: str, head: "regex.Match[str]", brackets: Brackets, before: int) -> Span | None:
    """A block of ours, or None for prose that looks like it: "[фото: вид сверху]", "[ссылка: в профиле]"."""
    key: str = head["key"]
    shouted, strong = is_shouted(key), head["open"] != "(" * len(head["open"])
    if head["bare"]:
        return _spelt_out(folded, head) if strong else None
    span = brackets.span(head.span("open"), head.end(), before=before, may_go_on=_is_one_block)
    says = _says(folded, head, span)
    plain = strong and head["loose"] is None and _PLAIN_LEAD.fullmatch(head["lead"])
    if not (says and (shouted or plain)) and not (plain and shouted and key.isascii()):
        return None
    if span.closed or not says:
        return span
    end = (_end_of_reaction if head["REACT"] else _end_of_addresses)(folded, span.said_from, span.said_to)
    return replace(span, said_to=end, end=brackets.after_stray(end))


def _spelt_out(folded: str, head: "regex.Match[str]") -> Span | None:
    """`<LINK>...</LINK>`, or else a key alone in its brackets."""
    ending = None if "/" in head["lead"] else _ENDING.match(folded, head.end())
    if ending and _holds_address(ending["said"]):
        return Span(head.start(), ending.end(), *ending.span("said"), closed=True)
    if head["key"] in ("LINK", "IMAGE", "FILE", "REACT"):
        return Span(head.start(), head.end(), head.end(), head.end(), closed=True)
    return None


def _bare(folded: str, head: "regex.Match[str]", before: int) -> Span | None:
    """A line of title and address and nothing else; or these two with a bar or quotes, among words that stay."""
    line_end = end_of_line(folded, head.end())
    limit = min(before, line_end)
    said = folded[head.end() : limit]
    start = is_at_line_start(folded, head.start())
    if head["key"] in _ALONE_ON_A_LINE and start is not None and limit == line_end and _is_whole(said, head):
        return Span(start, limit, head.end(), limit, closed=False)
    address = ADDRESS.search(said) if head["key"].isascii() and not head["REACT"] else None
    if address is None or address.start() > TITLE_CHARS:
        return None
    quoted = folded[head.start() - 1 : head.start()] in tuple(_QUOTE_BEFORE)
    if not quoted and "|" not in said[: address.start()]:
        return None
    said_to = head.end() + address.start() + len(trimmed(address[0]))
    quote = _QUOTE_BEHIND.match(folded, said_to) if quoted else None
    return Span(head.start() - quoted, quote.end() if quote else said_to, head.end(), said_to, closed=False)


def _says(folded: str, head: "regex.Match[str]", span: Span) -> bool:
    said = folded[span.said_from : span.said_to]
    return bool(reaction_in(said)) if head["REACT"] else _holds_address(said)


def _holds_address(said: str) -> bool:
    return "://" in said or "www." in said


def _is_one_block(said: str) -> bool:
    """Several lines are one block if only a title stands before an address, and behind it what a bar joins to it."""
    address = ADDRESS.search(said)
    if address is None or address.start() > TITLE_CHARS:
        return len(said.strip()) <= _MOST_WITHOUT_ADDRESS
    is_joined = True
    for line in said[address.start() :].split("\n"):
        if not _holds_address(line) and line.strip(DRESSING) and not is_joined and not line.lstrip().startswith("|"):
            return False
        is_joined = line.rstrip().endswith("|")
    return True


def _is_whole(said: str, head: "regex.Match[str]") -> bool:
    if head["REACT"]:
        return bool(reaction_in(said)) and (_named(said) != "" or not any(map(str.isalnum, said)))
    fields = said.split("|")
    for field in fields:
        address = ADDRESS.search(field)
        title = (field[: address.start()] if address else field).strip(TITLE_DRESSING)
        behind = field[address.start() + len(trimmed(address[0])) :] if address else ""
        if len(title) > TITLE_CHARS or behind.strip(TITLE_DRESSING + ".!?…"):
            return False
        if len(fields) == 1 and not _is_short_title(title):
            return False
    return _holds_address(said)


def _end_of_addresses(folded: str, start: int, limit: int) -> int:
    """Behind the last address from `start` on, and behind a title that a bar joins to it."""
    end = start
    while address := ADDRESS.search(folded, end, limit):
        if end > start and "|" not in folded[end : address.start()]:
            break
        end = address.start() + len(trimmed(address[0]))
    title = folded[end:limit]
    if not title.lstrip().startswith("|"):
        return end
    return limit if _is_short_title(title) else folded.index("|", end) + 1


def _end_of_reaction(folded: str, start: int, limit: int) -> int:
    emoji = reaction_in(folded[start:limit])
    return max(folded.find(emoji, start, limit), start) + len(emoji) if not _named(folded[start:limit]) else limit


def _is_short_title(title: str) -> bool:
    """As far as can be told: what has figures or many words may be more than a title."""
    return len(title.strip("| ").split()) <= _MOST_TITLE_WORDS and not any(map(str.isdigit, title))


def reaction_in(said: str) -> str:
    """Its first emoji, or the one that it names; "" for neither."""
    for cluster in regex.findall(r"\X", said[:40]):
        if _EMOJI.search(cluster):
            return str(cluster)
    return _named(said)


def _named(said: str) -> str:
    return _NAMED_REACTIONS.get(said.strip(TITLE_DRESSING).casefold(), "")
