"""What a reply brings besides its words: `[LINK: title | url]`, `[IMAGE: url]`, `[FILE: url]`, `[REACT: ❤]`.

Read as tolerantly as buttons are, never shown as text. An address stands only if it is known from elsewhere
(`keep_grounded`): models invent links.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from bot.addresses import ADDRESS, addresses_in, name_of_host, public_address, trimmed
from bot.blocks import CLOSE, DRESS, DRESSING, MARK, OPEN, SIGN, without_marks
from bot.conversation import PartKind
from bot.keyed_patterns import KeyedPattern
from bot.visible import is_blank

MOST_LINKS = 3  # a button template holds no more
MOST_ATTACHMENTS = 3
TITLE_CHARS = 80  # of a link as text; as a button it is cut further

_KINDS = {
    "LINK": ("LINK", "LINKS", "URL", "ССЫЛКА", "ССЫЛКИ"),
    "IMAGE": ("IMAGE", "IMAGES", "IMG", "PHOTO", "PICTURE", "ФОТО", "КАРТИНКА", "ИЗОБРАЖЕНИЕ"),
    "FILE": ("FILE", "FILES", "DOCUMENT", "ФАЙЛ", "ДОКУМЕНТ"),
    "REACT": ("REACT", "REACTION", "РЕАКЦИЯ"),
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words}

_KEY = f"(?P<key>{'|'.join(sorted(_KIND_OF, key=len, reverse=True))})"
_BLOCK = KeyedPattern(
    rf"{OPEN}{DRESS}{_KEY}{DRESS}{SIGN}(?P<body>[^\[\]［］【】{{}}<>]{{0,2500}}+){CLOSE}"
    rf"|{OPEN}{DRESS}{_KEY}{DRESS}{SIGN}(?P<body>[^\n\[［【]*)"  # never closed: to the end of its line
    rf"|^[ \t*_`]{{0,6}}(?-i:(?P<key>LINK|IMAGE|FILE|REACT|ССЫЛКА)){DRESS}{SIGN}(?P<line>[^\n\[\]]*)$"
    rf"|{OPEN}/?(?-i:(?P<key>LINK|IMAGE|FILE|REACT))\s?{CLOSE}",
    regex.MULTILINE | regex.IGNORECASE,
    keys="link, url, ссылк, image, img, photo, picture, фото, картинка, изображение, file, document, файл, документ, "
    "react, реакция",
)
_FIELD = regex.compile(r"[|｜\n]")
_TITLE_DRESSING = DRESSING + ":=：–—-→"
_UNFIT = regex.compile(r"[\[\]{}<>|]|(?:VERDICT|TASK|STAGE)\s?[:=]|[\p{Cc}\p{Cs}\p{Cf}&&[^\u200D]]", regex.VERSION1)
_EMOJI = regex.compile(r"[\p{Extended_Pictographic}\p{Regional_Indicator}]")
_NAMED_REACTIONS = {"love": "❤", "heart": "❤", "сердце": "❤", "like": "👍", "лайк": "👍", "smile": "😊"}


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
class Beside:
    """All that is no words; nothing that the words say may hang on it."""

    links: tuple[Link, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    reaction: str = ""

    def __bool__(self) -> bool:
        return bool(self.links or self.attachments or self.reaction)


NOTHING = Beside()


@dataclass(frozen=True, slots=True)
class WithoutElements:
    text: str
    beside: Beside = NOTHING


def take_elements(text: str) -> WithoutElements:
    """Cut every block out of `text`; an address that nobody may be sent to is cut and dropped."""
    if not _BLOCK.may_match(text):
        return WithoutElements(text)
    links: dict[str, Link] = {}
    attachments: dict[str, Attachment] = {}
    reaction = ""

    def take(match: "regex.Match[str]") -> str:
        nonlocal reaction
        kind = _KIND_OF[match["key"].upper()]
        body = match["body"] or match["line"] or ""
        if not _is_block(match, kind, body):
            return str(match[0])
        if kind == "REACT":
            reaction = _emoji_of(body) or reaction
            return MARK
        for title, url in _addresses_of(body):
            if kind == "LINK":
                links.setdefault(url, Link(title or name_of_host(url), url))
            else:
                attachments.setdefault(url, Attachment(PartKind(kind.lower()), url, title))
        return MARK

    marked = _BLOCK.sub(take, text)
    if MARK not in marked:
        return WithoutElements(text)
    beside = Beside(tuple(links.values())[:MOST_LINKS], tuple(attachments.values())[:MOST_ATTACHMENTS], reaction)
    return WithoutElements(without_marks(marked), beside)


def keep_grounded(beside: Beside, known: Iterable[str]) -> Beside:
    """Only what leads to an address that stands in one of the texts `known`."""
    if not beside.links and not beside.attachments:
        return beside
    addresses = addresses_in(known)
    return Beside(
        tuple(link for link in beside.links if link.url in addresses),
        tuple(attachment for attachment in beside.attachments if attachment.url in addresses),
        beside.reaction,
    )


def pack_links(links: Iterable[Link]) -> str:
    """One "title|url" a line, as a plan keeps them: neither may hold a bar or a line's end."""
    return "\n".join(f"{link.title}|{link.url}" for link in links)


def unpack_links(packed: str) -> tuple[Link, ...]:
    return tuple(Link(title, url) for title, _, url in (line.partition("|") for line in packed.split("\n")) if url)


def _is_block(match: "regex.Match[str]", kind: str, body: str) -> bool:
    """Ours, or prose that looks like it: "[фото: вид сверху]", "[ссылка: в профиле]"."""
    shouted = match["key"].isupper()
    says = bool(_emoji_of(body)) if kind == "REACT" else "://" in body or "www." in body
    return shouted and says if match["line"] is not None else shouted or says


def _addresses_of(body: str) -> list[tuple[str, str]]:
    """Title and address, pair by pair; a title stands before its address, or alone after the only one."""
    found: list[tuple[str, str]] = []
    title = ""
    for field in _FIELD.split(body):
        match = ADDRESS.search(field)
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
    title = " ".join(written.strip(_TITLE_DRESSING).split())
    return "" if is_blank(title) or _UNFIT.search(title) else title[:TITLE_CHARS].rstrip()


def _emoji_of(body: str) -> str:
    for cluster in regex.findall(r"\X", body[:40]):
        if _EMOJI.search(cluster):
            return str(cluster)
    return _NAMED_REACTIONS.get(body.strip(_TITLE_DRESSING).casefold(), "")
