"""How a reply is laid out for a channel: its text messages, which of them carries links, what follows the words."""

from dataclasses import dataclass

from bot.conversation import Enclosure, PartKind
from bot.incoming.events import Channel
from bot.reply.brackets import utf16_units
from bot.reply.rich_content import NO_RICH_CONTENT, Attachment, Link, RichContent
from bot.reply.splitting import limit_for, split_text
from bot.text.urls import extension_of

TEMPLATE_CHARS = 640  # of a button template's text; counted in bytes where the channel counts bytes

# Instagram takes PDF files only and shows these pictures; what names no extension is tried.
_INSTAGRAM_FILES = frozenset({".pdf"})
_INSTAGRAM_IMAGES = frozenset({"", ".png", ".jpg", ".jpeg", ".gif"})
_NOT_IMAGES = frozenset({".svg", ".pdf", ".html", ".htm", ".tif", ".tiff", ".heic", ".avif"})


@dataclass(frozen=True, slots=True)
class Arranged:
    """`links` are the buttons of the last text, whose own end says the same in plain words (`words_on_template`)."""

    texts: tuple[str, ...]
    links: tuple[Link, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()


def arrange(
    words: str, rich_content: RichContent = NO_RICH_CONTENT, *, channel: Channel, has_buttons: bool, mid: str = ""
) -> Arranged:
    """`mid` is the message that a reaction is for.

    A message takes quick replies or link buttons, not both: quick replies stay, since only they can be tapped as an
    answer, and the links become lines of text. So does whatever the channel cannot carry.
    """
    limits = limit_for(channel)
    if not rich_content:
        return Arranged(tuple(split_text(words, **limits)))
    carried = tuple(a for a in rich_content.attachments if is_carried(a, channel))
    words = _with_lines(words, [str(a) for a in rich_content.attachments if a not in carried and a.url not in words])
    enclosures = [Enclosure(a.kind, str(a), a.url) for a in carried]
    if rich_content.reaction and mid:
        enclosures.append(Enclosure(PartKind.REACTION, rich_content.reaction, mid))
    texts = split_text(words, **limits)
    if rich_content.links and texts and not has_buttons:
        whole = _with_lines(texts[-1], [str(link) for link in rich_content.links])
        if fits_template(texts[-1], channel) and split_text(whole, **limits) == [whole]:
            return Arranged((*texts[:-1], whole), rich_content.links, tuple(enclosures))
    words = _with_lines(words, [str(link) for link in rich_content.links if link.url not in words])
    return Arranged(tuple(split_text(words, **limits)), (), tuple(enclosures))


def words_on_template(text: str, links: tuple[Link, ...]) -> str:
    """The text of the template in place of `text`, whose last lines its buttons say; "" where it does not end so."""
    end = _with_lines("", [str(link) for link in links])
    return text.removesuffix(end) if links and text.endswith(end) else ""


def fits_template(text: str, channel: Channel) -> bool:
    size = len(text.encode("utf-8", "surrogatepass")) if channel is Channel.INSTAGRAM else utf16_units(text)
    return size <= TEMPLATE_CHARS


def is_carried(attachment: Attachment, channel: Channel) -> bool:
    """False where Meta is known to refuse it: then its address is given in words."""
    extension = extension_of(attachment.url)
    if attachment.kind is PartKind.IMAGE:
        return extension not in _NOT_IMAGES and (channel is Channel.MESSENGER or extension in _INSTAGRAM_IMAGES)
    return channel is Channel.MESSENGER or extension in _INSTAGRAM_FILES


def _with_lines(words: str, lines: list[str]) -> str:
    return "\n\n".join([words, "\n".join(lines)]) if lines else words
