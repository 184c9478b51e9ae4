"""Link buttons, pictures, files and reactions: read in every shape, never shown, never invented."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.conversation import PartKind
from bot.elements import (
    MOST_ATTACHMENTS,
    MOST_LINKS,
    TITLE_CHARS,
    Attachment,
    Beside,
    Link,
    keep_grounded,
    pack_links,
    take_elements,
    unpack_links,
)
from bot.model_output import Completion
from bot.tags import parse_tags
from bot.validation import ReplyContext, judge
from bot.verdict import Verdict
from tests.bot.legal_replies import LEGAL

TAGS = "[VERDICT:CHAT:WARM] [TASK:NONE] [STAGE:OFFER]"
PAGE = "https://shop.example/p/101"
PHOTO = "https://shop.example/p/101.jpg"
WORDS = "Кружка стоит 1900 ₽."


@pytest.mark.parametrize(
    "block",
    [
        f"[LINK: Каталог | {PAGE}]",
        f"[LINK:Каталог|{PAGE}]",
        f"[link = Каталог | {PAGE}]",
        f"[LINKS: Каталог | {PAGE}]",
        f"[[LINK: «Каталог» | {PAGE}]]",
        f"[**LINK**: Каталог | {PAGE}]",
        f"{{LINK: Каталог | {PAGE}}}",
        f"【LINK：Каталог｜{PAGE}】",
        f"[ССЫЛКА: Каталог | {PAGE}]",
        f"[Ссылка: Каталог | {PAGE}]",
        f"[LINK: {PAGE} | Каталог]",
        f"[LINK: Каталог — {PAGE}]",
        f"[LINK: Каталог: {PAGE}.]",
        f"[LINK:\nКаталог |\n{PAGE}\n]",
        f"LINK: Каталог | {PAGE}",
        f"**LINK:** Каталог | {PAGE}",
        f"[LINK: Каталог | {PAGE}",
        f"[LINK: Каталог | {PAGE}]\n[LINK: Каталог | {PAGE}]",
    ],
)
def test_every_shape_of_a_link_is_read_and_none_is_shown(block: str) -> None:
    reply = parse_tags(f"{WORDS}\n{block}\n{TAGS}")

    assert reply.text == WORDS
    assert reply.beside == Beside(links=(Link("Каталог", PAGE),))
    assert (reply.stage, reply.missing) == ("OFFER", ())


@pytest.mark.parametrize(
    ("block", "kind", "what"),
    [
        (f"[IMAGE: {PHOTO}]", PartKind.IMAGE, ""),
        (f"[IMAGE: {PHOTO} | Кружка]", PartKind.IMAGE, "Кружка"),
        (f"[image: Кружка: {PHOTO}]", PartKind.IMAGE, "Кружка"),  # as the history tells it
        (f"[ФОТО: {PHOTO}]", PartKind.IMAGE, ""),
        (f"[Картинка: {PHOTO}]", PartKind.IMAGE, ""),
        (f"IMAGE: {PHOTO}", PartKind.IMAGE, ""),
        (f"[FILE: {PHOTO} | Прайс]", PartKind.FILE, "Прайс"),
        (f"[файл: Прайс | {PHOTO}]", PartKind.FILE, "Прайс"),
        (f"[ДОКУМЕНТ: {PHOTO}]", PartKind.FILE, ""),
    ],
)
def test_pictures_and_files_are_read(block: str, kind: PartKind, what: str) -> None:
    reply = parse_tags(f"{WORDS}\n{block}\n{TAGS}")

    assert reply.text == WORDS
    assert reply.beside == Beside(attachments=(Attachment(kind, PHOTO, what),))


@pytest.mark.parametrize(
    ("block", "emoji"),
    [
        ("[REACT: ❤]", "❤"),
        ("[REACT: ❤️]", "❤️"),
        ("[react: 👍🏽]", "👍🏽"),
        ("[РЕАКЦИЯ: 🔥🔥]", "🔥"),
        ("[REACTION: love]", "❤"),
        ("[Реакция: сердце]", "❤"),
        ("REACT: 😍", "😍"),
        ("[REACT: ❤]\n[REACT: 👍]", "👍"),
        ("[REACT: спасибо]", ""),
        ("[REACT]", ""),
    ],
)
def test_a_reaction_is_one_emoji(block: str, emoji: str) -> None:
    reply = parse_tags(f"{WORDS}\n{block}\n{TAGS}")

    assert reply.text == WORDS
    assert reply.beside == Beside(reaction=emoji)


@pytest.mark.parametrize(
    "block",
    [
        "[LINK]",
        "[/LINK]",
        "[IMAGE: ]",
        "[LINK: Каталог]",
        "[ССЫЛКА: в профиле]",
        "[LINK: Каталог | shop]",
        "[IMAGE: http://127.0.0.1/a.jpg]",
        "[IMAGE: http://user:secret@shop.example/a.jpg]",
        "[LINK: Каталог | https://example.com/catalog]",
        f"[LINK: Каталог | https://shop.example/{'a' * 3000}]",
        "[LIN",
        "[LINK",
        "[IMAG",
    ],
)
def test_what_gives_nothing_is_cut_all_the_same(block: str) -> None:
    for text in (f"{WORDS}\n{block}\n{TAGS}", f"{WORDS}\n{TAGS}\n{block}"):
        if "]" in block or text.endswith(block):
            assert parse_tags(text).text == WORDS
            assert not parse_tags(text).beside


@pytest.mark.parametrize(
    "text",
    [
        "Пришлите фото: вид сверху и сбоку.",
        "На снимке [фото: вид сверху] видно скол.",
        "Наш сайт: https://shop.example/p/101",
        "Ссылка: в шапке профиля",
        "The link (file: see above) is there",
        "Каталог [PDF] есть на сайте",
        "Реакция: аллергии на глину не бывает.",
        "[реакция: спокойная]",
        f"Вот: {PAGE}",
    ],
)
def test_talk_of_such_things_is_none(text: str) -> None:
    assert parse_tags(text).text == text
    assert not parse_tags(text).beside


@pytest.mark.parametrize("reply", [reply for _, reply in LEGAL])
def test_legal_replies_have_none(reply: str) -> None:
    assert take_elements(reply).text == reply
    assert not take_elements(reply).beside


def test_they_are_counted_cut_and_named_once_each() -> None:
    links = "\n".join(f"[LINK: {'Очень длинное имя ' * 9}{n} | {PAGE}{n}]" for n in range(9))
    images = "\n".join(f"[IMAGE: {PHOTO}?{n}]" for n in range(9))

    beside = take_elements(f"{WORDS}\n{links}\n{images}").beside

    assert [link.url for link in beside.links] == [f"{PAGE}{n}" for n in range(MOST_LINKS)]
    assert len(beside.attachments) == MOST_ATTACHMENTS
    assert all(len(link.title) <= TITLE_CHARS for link in beside.links)


def test_several_pairs_in_one_block_and_a_link_without_a_title() -> None:
    beside = take_elements(f"[LINK: Один | {PAGE}1 | Два | {PAGE}2 | {PAGE}3]").beside

    assert [link.title for link in beside.links] == ["Один", "Два", "shop.example"]


@pytest.mark.parametrize("title", ["[x]", "VERDICT: HOT", "…", "a\u2028b"])
def test_a_title_that_nobody_should_read_gives_way_to_the_host(title: str) -> None:
    links = take_elements(f"[LINK: {title.replace('[', '').replace(']', '') or 'x'} | {PAGE}]").beside.links

    assert not links or links[0].title in {"shop.example", "x", "a b"}


def test_only_known_addresses_are_kept() -> None:
    beside = Beside(
        (Link("Да", PAGE), Link("Начало другого", "https://shop.example/p/1"), Link("Нет", "https://evil.example/")),
        (Attachment(PartKind.IMAGE, PHOTO), Attachment(PartKind.FILE, "https://evil.example/a.pdf")),
        "❤",
    )

    kept = keep_grounded(beside, ["price: 1900", f"link: {PAGE}; image: {PHOTO}"])

    assert kept == Beside((Link("Да", PAGE),), (Attachment(PartKind.IMAGE, PHOTO),), "❤")


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_the_sample_in_the_prompt_can_never_be_sent(locale: str) -> None:
    prompt = (Path(__file__).parents[2] / "prompts" / locale / "tags.md").read_text(encoding="utf-8")
    sample = next(line for line in prompt.splitlines() if "[LINK:" in line)

    beside = take_elements(sample).beside

    assert "https://example.com/" in sample
    assert not beside.links
    assert not beside.attachments


def test_a_reply_of_elements_alone_is_empty() -> None:
    content = f"[LINK: Каталог | {PAGE}]\n[IMAGE: {PHOTO}]\n[REACT: ❤]\n{TAGS}"

    judgement = judge(Completion(content, finish_reason="stop"), ReplyContext("Сколько стоит?", ""))

    assert (judgement.verdict, judgement.rule, judgement.reply) == (Verdict.RETRY_REQUIRED, "tags_only", None)


def test_a_judged_reply_brings_them() -> None:
    content = f"{WORDS} Она серо-голубая.\n[LINK: Каталог | {PAGE}]\n{TAGS}"

    judgement = judge(Completion(content, finish_reason="stop"), ReplyContext("Сколько стоит?", ""))

    assert judgement.verdict is Verdict.SUCCESS
    assert judgement.reply is not None
    assert judgement.reply.beside.links == (Link("Каталог", PAGE),)


@pytest.mark.parametrize("block", [f"[LINK[TASK:NONE]: Каталог | {PAGE}]", f"[IMAGE [STAGE:OFFER]: {PHOTO}]"])
def test_what_cutting_a_tag_closes_is_cut_too(block: str) -> None:
    assert parse_tags(f"{WORDS}\n{block}").text == WORDS


def test_links_are_packed_and_unpacked() -> None:
    links = (Link("Каталог", PAGE), Link("Фото", PHOTO))

    assert unpack_links(pack_links(links)) == links
    assert unpack_links("") == ()


@given(st.text(alphabet="[]{}|:= \nLINKhtps/.a", max_size=60), st.text(max_size=30))
def test_no_block_survives(block: str, around: str) -> None:
    text = parse_tags(f"{around}[LINK:{block}]{around}").text

    assert "[LINK:" not in text
