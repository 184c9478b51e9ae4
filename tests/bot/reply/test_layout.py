"""A reply laid out for a channel: what a template holds, what becomes text, what follows the words."""

import pytest

from bot.conversation import Enclosure, PartKind
from bot.incoming.events import Channel
from bot.reply.layout import TEMPLATE_CHARS, arrange, fits_template, words_on_template
from bot.reply.rich_content import Attachment, Link, RichContent
from bot.reply.splitting import limit_for, split_text

BOTH = [Channel.INSTAGRAM, Channel.MESSENGER]
LINK = Link("Каталог", "https://shop.example/p/101")
LINKS = RichContent(links=(LINK,))
WORDS = "Кружка стоит 1900 ₽."


def picture(url: str, what: str = "") -> RichContent:
    return RichContent(attachments=(Attachment(PartKind.IMAGE, url, what),))


def document(url: str, what: str = "") -> RichContent:
    return RichContent(attachments=(Attachment(PartKind.FILE, url, what),))


@pytest.mark.parametrize("channel", BOTH)
def test_words_alone_are_split_as_ever(channel: Channel) -> None:
    words = "Раз. " * 500

    assert arrange(words, channel=channel, has_buttons=True).texts == tuple(split_text(words, **limit_for(channel)))


@pytest.mark.parametrize("channel", BOTH)
def test_links_are_buttons_of_the_last_text_which_says_them_in_words_too(channel: Channel) -> None:
    reply = arrange(WORDS, LINKS, channel=channel, has_buttons=False)

    assert reply.texts == (f"{WORDS}\n\nКаталог: https://shop.example/p/101",)
    assert reply.links == (LINK,)
    assert words_on_template(reply.texts[-1], reply.links) == WORDS


@pytest.mark.parametrize("channel", BOTH)
def test_quick_replies_keep_links_out_of_buttons(channel: Channel) -> None:
    reply = arrange(WORDS, LINKS, channel=channel, has_buttons=True)

    assert reply.texts == (f"{WORDS}\n\n{LINK}",)
    assert reply.links == ()


@pytest.mark.parametrize(
    ("channel", "letters", "fits"),
    [
        (Channel.MESSENGER, "ы" * 640, True),
        (Channel.MESSENGER, "ы" * 641, False),
        (Channel.MESSENGER, "🚀" * 320, True),
        (Channel.MESSENGER, "🚀" * 321, False),
        (Channel.INSTAGRAM, "ы" * 320, True),
        (Channel.INSTAGRAM, "ы" * 321, False),
        (Channel.INSTAGRAM, "a" * 640, True),
        (Channel.INSTAGRAM, "\ud83d" * 214, False),
    ],
)
def test_a_template_is_measured_as_its_channel_counts(channel: Channel, letters: str, fits: bool) -> None:
    assert fits_template(letters, channel) is fits


@pytest.mark.parametrize("channel", BOTH)
def test_a_text_too_long_for_a_template_ends_with_the_links(channel: Channel) -> None:
    words = "Слово " * 130  # longer than a template, and on Instagram than a message

    reply = arrange(words, LINKS, channel=channel, has_buttons=False)

    if channel is Channel.MESSENGER:
        assert len(words) > TEMPLATE_CHARS
        assert reply.links == ()
    assert "".join(reply.texts).endswith(str(LINK))
    limits = limit_for(channel)
    assert all(split_text(text, **limits) == [text] for text in reply.texts)


def test_only_the_last_of_several_texts_is_a_template() -> None:
    reply = arrange("Раз два три. " * 50, LINKS, channel=Channel.INSTAGRAM, has_buttons=False)

    assert len(reply.texts) > 1
    assert reply.links == (LINK,)
    assert str(LINK) not in "".join(reply.texts[:-1])


def test_a_link_that_the_words_hold_is_not_said_twice() -> None:
    words = f"Смотрите {LINK.url}"

    assert arrange(words, LINKS, channel=Channel.INSTAGRAM, has_buttons=True).texts == (words,)


@pytest.mark.parametrize(
    ("channel", "rich_content", "carried"),
    [
        (Channel.INSTAGRAM, picture("https://shop.example/a.png"), True),
        (Channel.INSTAGRAM, picture("https://shop.example/a"), True),
        (Channel.INSTAGRAM, picture("https://shop.example/a.webp"), False),
        (Channel.MESSENGER, picture("https://shop.example/a.webp"), True),
        (Channel.MESSENGER, picture("https://shop.example/a.svg"), False),
        (Channel.INSTAGRAM, document("https://shop.example/a.PDF?v=2"), True),
        (Channel.INSTAGRAM, document("https://shop.example/a.xlsx"), False),
        (Channel.INSTAGRAM, document("https://shop.example/a"), False),
        (Channel.MESSENGER, document("https://shop.example/a.xlsx"), True),
    ],
)
def test_what_a_channel_cannot_carry_is_a_line_of_text(
    channel: Channel, rich_content: RichContent, carried: bool
) -> None:
    reply = arrange(WORDS, rich_content, channel=channel, has_buttons=False)

    [attachment] = rich_content.attachments
    enclosure = Enclosure(attachment.kind, attachment.url, attachment.url)
    assert reply.enclosures == ((enclosure,) if carried else ())
    assert reply.texts == (WORDS if carried else f"{WORDS}\n\n{attachment.url}",)


def test_a_reaction_comes_last_and_needs_a_message() -> None:
    rich_content = RichContent(attachments=picture("https://shop.example/a.png", "Кружка").attachments, reaction="❤")

    [image, reaction] = arrange(WORDS, rich_content, channel=Channel.INSTAGRAM, has_buttons=False, mid="m_1").enclosures

    assert image == Enclosure(PartKind.IMAGE, "Кружка: https://shop.example/a.png", "https://shop.example/a.png")
    assert reaction == Enclosure(PartKind.REACTION, "❤", "m_1")
    assert len(arrange(WORDS, rich_content, channel=Channel.INSTAGRAM, has_buttons=False).enclosures) == 1


def test_words_that_do_not_end_with_the_links_are_on_no_template() -> None:
    assert words_on_template(WORDS, (LINK,)) == ""
    assert words_on_template(WORDS, ()) == ""
