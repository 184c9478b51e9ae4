"""What of the rich content is kept: counted, cut, known from elsewhere, and never a reply by itself."""

import pytest

from bot.conversation import PartKind
from bot.model_output import Completion
from bot.reply.rich_content import (
    MOST_ATTACHMENTS,
    MOST_LINKS,
    Attachment,
    Link,
    RichContent,
    keep_grounded,
    pack_links,
    take_rich_content,
    unpack_links,
)
from bot.reply.rich_content_blocks import TITLE_CHARS
from bot.reply.tags import parse_tags
from bot.reply.validation import ReplyContext, judge
from bot.verdict import Verdict
from tests.bot.reply.offers import PAGE, PHOTO, TAGS, WORDS
from tests.rooms import ROOT


def test_they_are_counted_cut_and_named_once_each() -> None:
    links = "\n".join(f"[LINK: {'Очень длинное имя ' * 9}{n} | {PAGE}{n}]" for n in range(9))
    images = "\n".join(f"[IMAGE: {PHOTO}?{n}]" for n in range(9))

    rich_content = take_rich_content(f"{WORDS}\n{links}\n{images}").rich_content

    assert [link.url for link in rich_content.links] == [f"{PAGE}{n}" for n in range(MOST_LINKS)]
    assert len(rich_content.attachments) == MOST_ATTACHMENTS
    assert all(len(link.title) <= TITLE_CHARS for link in rich_content.links)


def test_several_pairs_in_one_block_and_a_link_without_a_title() -> None:
    rich_content = take_rich_content(f"[LINK: Один | {PAGE}1 | Два | {PAGE}2 | {PAGE}3]").rich_content

    assert [link.title for link in rich_content.links] == ["Один", "Два", "shop.example"]


@pytest.mark.parametrize("title", ["[x]", "VERDICT: HOT", "…", "a\u2028b"])
def test_a_title_that_nobody_should_read_gives_way_to_the_host(title: str) -> None:
    links = take_rich_content(f"[LINK: {title.replace('[', '').replace(']', '') or 'x'} | {PAGE}]").rich_content.links

    assert not links or links[0].title in {"shop.example", "x", "a b"}


def test_only_known_addresses_are_kept() -> None:
    rich_content = RichContent(
        (Link("Да", PAGE), Link("Начало другого", "https://shop.example/p/1"), Link("Нет", "https://evil.example/")),
        (Attachment(PartKind.IMAGE, PHOTO), Attachment(PartKind.FILE, "https://evil.example/a.pdf")),
        "❤",
    )

    kept = keep_grounded(rich_content, ["price: 1900", f"link: {PAGE}; image: {PHOTO}"])

    assert kept == RichContent((Link("Да", PAGE),), (Attachment(PartKind.IMAGE, PHOTO),), "❤")


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_the_sample_in_the_prompt_can_never_be_sent(locale: str) -> None:
    prompt = (ROOT / "prompts" / locale / "tags.md").read_text(encoding="utf-8")
    sample = next(line for line in prompt.splitlines() if "[LINK:" in line)

    rich_content = take_rich_content(sample).rich_content

    assert "https://example.com/" in sample
    assert not rich_content.links
    assert not rich_content.attachments


def test_a_reply_of_elements_alone_is_empty() -> None:
    content = f"[LINK: Каталог | {PAGE}]\n[IMAGE: {PHOTO}]\n[REACT: ❤]\n{TAGS}"

    judgement = judge(Completion(content, finish_reason="stop"), ReplyContext("Сколько стоит?", ""))

    assert (judgement.verdict, judgement.rule, judgement.reply) == (Verdict.RETRY_REQUIRED, "tags_only", None)


def test_a_judged_reply_brings_them() -> None:
    content = f"{WORDS} Она серо-голубая.\n[LINK: Каталог | {PAGE}]\n{TAGS}"

    judgement = judge(Completion(content, finish_reason="stop"), ReplyContext("Сколько стоит?", ""))

    assert judgement.verdict is Verdict.SUCCESS
    assert judgement.reply is not None
    assert judgement.reply.rich_content.links == (Link("Каталог", PAGE),)


@pytest.mark.parametrize("block", [f"[LINK[TASK:NONE]: Каталог | {PAGE}]", f"[IMAGE [STAGE:OFFER]: {PHOTO}]"])
def test_what_cutting_a_tag_closes_is_cut_too(block: str) -> None:
    assert parse_tags(f"{WORDS}\n{block}").text == WORDS


def test_links_are_packed_and_unpacked() -> None:
    links = (Link("Каталог", PAGE), Link("Фото", PHOTO))

    assert unpack_links(pack_links(links)) == links
    assert unpack_links("") == ()
