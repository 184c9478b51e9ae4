"""Reads Telegram's HTML subset as strictly as Telegram does."""

import re

_PIECE = re.compile(r"</(?P<closed>[^<>]*)>|<(?P<opened>[^<>]*)>|(?P<stray><)|(?P<entity>&[#\w]{1,8};)|.", re.DOTALL)
_TAG = re.compile(
    r"""(?P<name>[a-z][a-z0-9-]*)(?P<attributes>(?:\s+[a-z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=]+))?)*)\s*""",
    re.IGNORECASE,
)
_NAMED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"'}
_TAGS = frozenset(
    "b strong i em u ins s strike del a code pre span blockquote tg-spoiler tg-emoji".split()  # noqa: SIM905 - reads better
)


class UnreadableMarkup(Exception):
    """The message is Telegram's `description`, after "Bad Request: "."""


def parse_html(source: str) -> str:
    """The text that is left when the tags are taken out; raise `UnreadableMarkup` for anything that is not allowed."""
    text: list[str] = []
    open_tags: list[str] = []
    for match in _PIECE.finditer(source):
        where = f"at byte offset {len(source[: match.start()].encode())}"
        if match["closed"] is not None:
            name = match["closed"].strip().lower()
            if not open_tags:
                raise UnreadableMarkup(f"can't parse entities: Unexpected end tag {where}")
            if name != open_tags[-1]:
                wanted = f'expected "</{open_tags[-1]}>", found "</{name}>"'
                raise UnreadableMarkup(f"can't parse entities: Unmatched end tag {where}, {wanted}")
            open_tags.pop()
        elif match["opened"] is not None:
            open_tags.append(_opened(match["opened"], where))
        elif match["stray"]:
            raise UnreadableMarkup(f"can't parse entities: Unclosed start tag {where}")
        else:
            text.append(_character(match.group()))
    if open_tags:
        raise UnreadableMarkup(
            f"can't parse entities: Can't find end tag corresponding to start tag \"{open_tags[-1]}\""
        )
    return "".join(text)


def _opened(inside: str, where: str) -> str:
    tag = _TAG.fullmatch(inside)
    name = tag["name"].lower() if tag else inside.split(maxsplit=1)[0] if inside.split() else ""
    if tag is None or name not in _TAGS:
        raise UnreadableMarkup(f'can\'t parse entities: Unsupported start tag "{name}" {where}')
    if name == "span" and "tg-spoiler" not in tag["attributes"]:
        raise UnreadableMarkup(f'can\'t parse entities: Tag "span" must have class "tg-spoiler" {where}')
    return name


def _character(piece: str) -> str:
    """Four named entities and all numbers are read; any other `&` stays as it is."""
    if piece in _NAMED:
        return _NAMED[piece]
    number = re.fullmatch(r"&#(?:x(?P<hex>[0-9a-fA-F]+)|(?P<dec>\d+));", piece)
    if number is None:
        return piece
    point = int(number["hex"], 16) if number["hex"] else int(number["dec"])
    return chr(point) if 0 < point < 0x110000 else piece
