"""Link buttons, pictures, files and reactions: read in every shape, never shown, never invented."""

import pytest

from bot.conversation import PartKind
from bot.model_output import Completion
from bot.reply.rich_content import (
    Attachment,
    Link,
    RichContent,
    take_rich_content,
)
from bot.reply.tags import parse_tags
from bot.reply.validation import ReplyContext, judge
from tests.bot.legal_replies import LEGAL
from tests.bot.reply.offers import PAGE, PHOTO, TAGS, WORDS


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
        f"(LINK: Каталог | {PAGE})",
        f"([LINK: Каталог | {PAGE}])",
        f"［ＬＩＮＫ：Каталог｜{PAGE}］",
        f"[ｌｉｎｋ：Каталог│{PAGE}]",
        f"[LINК: Каталог | {PAGE}]",  # the last letter is Cyrillic
        f"[LİNK: Каталог | {PAGE}]",
        f"[lınk: Каталог | {PAGE}]",
        f"[LIN\u212a: Каталог | {PAGE}]",
        f"[LINKſ: Каталог | {PAGE}]",
        f"「LINK: Каталог | {PAGE}」",
        f"⟦LINK: Каталог | {PAGE}⟧",
        f"[LINK Каталог {PAGE}]",
        f"[LINK | Каталог | {PAGE}]",
        f"[🔗 LINK: Каталог | {PAGE}]",
        f"<LINK>Каталог | {PAGE}</LINK>",
        f"[LINK]Каталог | {PAGE}[/LINK]",
        f"- LINK: Каталог | {PAGE}",
        f"«LINK: Каталог | {PAGE}»",
        f"[LINK: Каталог | {PAGE}}}",
        f"[LINK: Каталог | {PAGE}[1]]",
        f"[VIDEO: Каталог | {PAGE}]",
    ],
)
def test_every_shape_of_a_link_is_read_and_none_is_shown(block: str) -> None:
    reply = parse_tags(f"{WORDS}\n{block}\n{TAGS}")

    assert reply.text == WORDS
    assert reply.rich_content == RichContent(links=(Link("Каталог", PAGE),))
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
        (f"[IMАGE: {PHOTO}]", PartKind.IMAGE, ""),  # the middle letter is Cyrillic
        (f"[ФOTО: {PHOTO}]", PartKind.IMAGE, ""),  # two letters are Latin
        (f"[İMAGE: {PHOTO}]", PartKind.IMAGE, ""),
        (f"[FİLE: {PHOTO}]", PartKind.FILE, ""),
    ],
)
def test_pictures_and_files_are_read(block: str, kind: PartKind, what: str) -> None:
    reply = parse_tags(f"{WORDS}\n{block}\n{TAGS}")

    assert reply.text == WORDS
    assert reply.rich_content == RichContent(attachments=(Attachment(kind, PHOTO, what),))


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
        ("[REACTİON: ❤]", "❤"),
        ("(REACT: ❤)", "❤"),
        ("[REACT: ❤]\n[REACT: 👍]", "👍"),
        ("[REACT: спасибо]", ""),
        ("[REACT: ❤", "❤"),
        ("[REACT:\n❤\n]", "❤"),
        ("[REACT]", ""),
    ],
)
def test_a_reaction_is_one_emoji(block: str, emoji: str) -> None:
    reply = parse_tags(f"{WORDS}\n{block}\n{TAGS}")

    assert reply.text == WORDS
    assert reply.rich_content == RichContent(reaction=emoji)


@pytest.mark.parametrize(
    "block",
    [
        "[LINK]",
        "[/LINK]",
        "[IMAGE: ]",
        "[LINK: Каталог]",
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
            assert not parse_tags(text).rich_content


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
        "[ССЫЛКА: в профиле]",
        "[РЕАКЦИЯ: спокойная]",
        "(LINK: see above)",
        "REACT: 😍 кружка 500 ₽",
        f"Вот: {PAGE}",
    ],
)
def test_talk_of_such_things_is_none(text: str) -> None:
    assert parse_tags(text).text == text
    assert not parse_tags(text).rich_content


@pytest.mark.parametrize("reply", [reply for _, reply in LEGAL])
def test_legal_replies_have_none(reply: str) -> None:
    assert take_rich_content(reply).text == reply
    assert not take_rich_content(reply).rich_content


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            f"Вот каталог: [LINK: Каталог | {PAGE}\nКружка 500 ₽, доставка 300 ₽.\nОплата -> по ссылке.\nБеру?",
            "Вот каталог:\nКружка 500 ₽, доставка 300 ₽.\nОплата -> по ссылке.\nБеру?",
        ),
        (f"Вот: [LINK: Каталог | {PAGE}\nКружка 500 ₽, в наличии]", "Вот:\nКружка 500 ₽, в наличии]"),
        (f"Вот: {{LINK: Каталог | {PAGE}\nКружка [новая] 500 ₽}}", "Вот:\nКружка [новая] 500 ₽}"),
        (f"Вот [LINK: Каталог | {PAGE} Кружка 500 ₽", "Вот Кружка 500 ₽"),
        (f"Вот [LINK: Каталог | {PAGE} Кружка 500 ₽ [новая]", "Вот Кружка 500 ₽ [новая]"),
        (f"Вот <LINK: Каталог | {PAGE} Оплата -> по ссылке", "Вот Оплата -> по ссылке"),
        (f"[LINK: Каталог | {PAGE}[1]] и цена", "и цена"),
        (f"[[LINK: Каталог | {PAGE}] Кружка 500 ₽]", "[ Кружка 500 ₽]"),
        (f"[LINK: Каталог | {PAGE}}} Кружка 500 ₽", "Кружка 500 ₽"),
        (f"Смотрите LINK: Каталог | {PAGE} — кружка 500 ₽", "Смотрите — кружка 500 ₽"),
        (f"[LINK: Каталог | {PAGE}\n]\nКружка", "Кружка"),
        (f"[LINK: {PAGE} | Каталог\nКружка 500 ₽]", "Кружка 500 ₽]"),
    ],
)
def test_only_the_block_itself_is_cut(text: str, left: str) -> None:
    reply = parse_tags(text)

    assert reply.text == left
    assert reply.rich_content.links == (Link("Каталог", PAGE),)


def test_words_behind_what_was_never_closed_are_words() -> None:
    assert parse_tags(f"[REACT: ❤ {WORDS}").text == WORDS
    assert parse_tags(f"[FILE: договор\n{WORDS} Привезём завтра, доставка 300 ₽]").text.startswith(WORDS)
    assert WORDS in parse_tags(f"[LINK: {PAGE} | Каталог {WORDS}").text


@pytest.mark.parametrize("label", ["LINK", "ССЫЛКА"])
def test_a_link_of_markdown_before_words_is_talk(label: str) -> None:
    judgement = judge(
        Completion(f"[{label}]({PAGE}) кружка 500 ₽, срок 2 дня", finish_reason="stop"), ReplyContext("Где купить?", "")
    )

    assert judgement.reply is not None
    assert judgement.reply.text == f"{label}: {PAGE} кружка 500 ₽, срок 2 дня"
    assert not judgement.reply.rich_content
