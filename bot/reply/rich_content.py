"""What a reply brings besides its words: `[LINK: title | url]`, `[IMAGE: url]`, `[FILE: url]`, `[REACT: ❤]`.

Read as tolerantly as buttons are, never shown as text. An address stands only if it is known from elsewhere
(`keep_grounded`): models invent links.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from bot.conversation import PartKind
from bot.reply.brackets import fields_of, without_spans
from bot.reply.rich_content_blocks import (
    TITLE_CHARS,
    TITLE_DRESSING,
    may_hold_rich_content,
    reaction_in,
    rich_content_blocks,
)
from bot.text.confusables import fold_confusables
from bot.text.urls import ADDRESS, addresses_in, name_of_host, public_address, trimmed
from bot.text.visible import is_blank

MOST_LINKS = 3  # a button template holds no more
MOST_ATTACHMENTS = 3

_UNFIT = regex.compile(r"[\[\]{}<>|]|(?:VERDICT|TASK|STAGE)\s?[:=]|[\p{Cc}\p{Cs}\p{Cf}&&[^\u200D]]", regex.VERSION1)


@dataclass(frozen=True, slots=True)
class Link:
    title: str
    url: str

    def __str__(self) -> str:
        return f"{self.title}: {self.url}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """`kind` is IMAGE or FILE; `what` says what it is, "" for nothing said."""

    kind: PartKind
    url: str
    what: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.url}" if self.what else self.url


@dataclass(frozen=True, slots=True)
class RichContent:
    """All that is no words; nothing that the words say may hang on it."""

    links: tuple[Link, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    reaction: str = ""

    def __bool__(self) -> bool:
        return bool(self.links or self.attachments or self.reaction)


NO_RICH_CONTENT = RichContent()


@dataclass(frozen=True, slots=True)
class WithoutRichContent:
    text: str
    rich_content: RichContent = NO_RICH_CONTENT


def take_rich_content(text: str) -> WithoutRichContent:
    """Cut every block out of `text`; an address that is not public is cut and dropped."""
    folded = fold_confusables(text)
    if not may_hold_rich_content(folded):
        return WithoutRichContent(text)
    links: dict[str, Link] = {}
    attachments: dict[str, Attachment] = {}
    reaction = ""
    spans = []
    for kind, span in rich_content_blocks(folded):
        spans.append(span)
        said, said_folded = text[span.said_from : span.said_to], folded[span.said_from : span.said_to]
        if kind == "REACT":
            reaction = reaction_in(said) or reaction
            continue
        for title, url in _addresses_of(said, said_folded):
            if kind == "LINK":
                links.setdefault(url, Link(title or name_of_host(url), url))
            else:
                attachments.setdefault(url, Attachment(PartKind(kind.lower()), url, title))
    if not spans:
        return WithoutRichContent(text)
    rich_content = RichContent(
        tuple(links.values())[:MOST_LINKS], tuple(attachments.values())[:MOST_ATTACHMENTS], reaction
    )
    return WithoutRichContent(without_spans(text, spans), rich_content)


def keep_grounded(rich_content: RichContent, known: Iterable[str]) -> RichContent:
    """Only what leads to an address that stands in one of the texts `known`."""
    if not rich_content.links and not rich_content.attachments:
        return rich_content
    addresses = addresses_in(known)
    return RichContent(
        tuple(link for link in rich_content.links if link.url in addresses),
        tuple(attachment for attachment in rich_content.attachments if attachment.url in addresses),
        rich_content.reaction,
    )


def pack_links(links: Iterable[Link]) -> str:
    """One "title|url" a line, as a plan keeps them: neither may hold a bar or a line's end."""
    return "\n".join(f"{link.title}|{link.url}" for link in links)


def unpack_links(packed: str) -> tuple[Link, ...]:
    return tuple(Link(title, url) for title, _, url in (line.partition("|") for line in packed.split("\n")) if url)


def _addresses_of(said: str, folded: str) -> list[tuple[str, str]]:
    """Title and address, pair by pair; a title stands before its address, or alone after the only one."""
    found: list[tuple[str, str]] = []
    title = ""
    for field, field_folded in fields_of(said, folded):
        match = ADDRESS.search(field) or ADDRESS.search(field_folded)
        if match is None:
            title = _title_of(field) or title
            continue
        if url := public_address(trimmed(match[0])):
            found.append((_title_of(field[: match.start()]) or title, url))
        title = ""
    if len(found) == 1 and title and not found[0][0]:
        found = [(title, found[0][1])]
    return found


def _title_of(written: str) -> str:
    title = " ".join(written.strip(TITLE_DRESSING).split())
    return "" if is_blank(title) or _UNFIT.search(title) else title[:TITLE_CHARS].rstrip()
