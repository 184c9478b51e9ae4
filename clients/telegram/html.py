"""Telegram's HTML subset: how long a text is to Telegram, cutting it without breaking its tags, and plain text."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_UNITS = 4096
ELLIPSIS = "…"

_PIECE = re.compile(
    r"(?P<close></(?P<closed>[a-z-]+)\s*>)|(?P<open><(?P<opened>[a-z-]+)(?:\s[^<>]*)?>)"
    r"|(?P<entity>&(?:lt|gt|amp|quot|#\d{1,7}|#x[0-9a-f]{1,6});)|(?P<char>.)",
    re.IGNORECASE | re.DOTALL,
)
_TAGS = frozenset(
    "b strong i em u ins s strike del a code pre span blockquote tg-spoiler tg-emoji".split()  # noqa: SIM905 - reads better
)


@dataclass(frozen=True, slots=True)
class _Piece:
    raw: str
    text: str = ""
    opened: str = ""
    closed: str = ""


def utf16_units(text: str) -> int:
    """Telegram counts as JavaScript does: an emoji is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def plain_text(source: str) -> str:
    """What a reader would see; markup that is not Telegram's stays in the text, so that nothing is lost."""
    return "".join(piece.text for piece in _pieces(source))


def cut_html(source: str, limit: int = MAX_UNITS) -> str:
    """`source` with at most `limit` visible UTF-16 units, ended by an ellipsis and closed tags if it was longer."""
    if utf16_units(plain_text(source)) <= limit:
        return source
    kept: list[str] = []
    open_tags: list[str] = []
    left = limit - utf16_units(ELLIPSIS)
    for piece in _pieces(source):
        left -= utf16_units(piece.text)
        if left < 0:
            break
        kept.append(piece.raw)
        if piece.opened:
            open_tags.append(piece.opened)
        elif piece.closed and piece.closed in open_tags:
            open_tags.remove(piece.closed)
    return "".join([*kept, ELLIPSIS, *(f"</{tag}>" for tag in reversed(open_tags))])


def cut_text(source: str, limit: int = MAX_UNITS) -> str:
    """The same for text without markup."""
    if utf16_units(source) <= limit:
        return source
    kept = source.encode("utf-16-le", "surrogatepass")[: 2 * (limit - utf16_units(ELLIPSIS))]
    return kept.decode("utf-16-le", "ignore") + ELLIPSIS


def _pieces(source: str) -> Iterator[_Piece]:
    for match in _PIECE.finditer(source):
        raw = match.group()
        opened, closed = (match["opened"] or "").lower(), (match["closed"] or "").lower()
        if opened in _TAGS:
            yield _Piece(raw, opened=opened)
        elif closed in _TAGS:
            yield _Piece(raw, closed=closed)
        elif match["entity"]:
            yield _Piece(raw, text=html.unescape(raw))
        else:
            # A tag Telegram does not know is shown as it is, character for character.
            for char in raw:
                yield _Piece(char, text=char)
