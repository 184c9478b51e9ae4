"""Link buttons, pictures, files and reactions: read in every shape, never shown, never invented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from tests.bot.legal_replies import LEGAL
from tests.growth import MOST, growth
from tests.rooms import ROOT

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


KEYS = [
    *("LINK", "LINKS", "URL", "ССЫЛКА", "IMAGE", "IMG", "PHOTO", "PICTURE", "ФОТО", "FILE", "FILES", "DOCUMENT"),
    *("ДОКУМЕНТ", "REACT", "REACTION", "РЕАКЦИЯ", "VIDEO", "BUTTONS", "QUICK REPLIES", "КНОПКИ", "VERDICT", "TASK"),
]
VARIANTS = [
    *(("K", "\u212a"), ("S", "ſ"), ("I", "ı"), ("I", "İ"), ("О", "\u1c82"), ("С", "\u1c83"), ("Т", "\u1c84")),
    *(("FI", "ﬁ"), ("О", "O"), ("K", "К"), ("A", "Α")),
]


@pytest.mark.parametrize("key", KEYS)
def test_no_spelling_of_a_key_is_an_error(key: str) -> None:
    for letters, other in VARIANTS:
        for spelt in (key.replace(letters, other), key.lower().replace(letters.lower(), other)):
            for text in (f"{WORDS} [{spelt}: a | {PAGE}]", f"{WORDS}\n{spelt}: a | {PAGE}", f"{WORDS} <{spelt}>"):
                assert parse_tags(text).text.startswith(WORDS)


@given(st.sampled_from(KEYS), st.lists(st.text(max_size=12), min_size=5, max_size=5), st.sampled_from(["", PAGE]))
def test_nothing_around_a_key_is_an_error(key: str, around: list[str], address: str) -> None:
    a, b, c, d, e = around
    bracketed, bare = f"{a}[{b}{key}{c}: {d}{address}{e}]{a}", f"{a}\n{key}:{b}{address}{c}"
    for text in (bracketed, bare, f"{a}({key}:{b}|{c}{address}{d})"):
        parse_tags(text)
        judge(Completion(f"{WORDS}{text}", finish_reason="stop"), ReplyContext("Сколько стоит?", ""))


@pytest.mark.parametrize(
    "unit",
    [
        "[ФОТО: ",
        "[LINK: ",
        "(LINK: ",
        "[LINK: a|",
        "LINK: a | ",
        f"[ФОТО: {PAGE} ",
        "<LINK>",
        "[BUTTONS: a|",
        "[КНОПКИ:",
        "[КНОПКИ:\n" * 60 + "]" * 60,
        "[ФОТО: " * 400 + "]" * 400,
    ],
)
@pytest.mark.parametrize("end", ["", "]" * 4500, "\n]"])
def test_the_work_of_a_reply_built_of_beginnings_grows_with_its_length(unit: str, end: str) -> None:
    def reply(size: int) -> Completion:
        closing = end * (size // 29_500)
        beginnings = unit * ((size - len(closing)) // len(unit))
        return Completion(f"{WORDS} {beginnings}{closing}", finish_reason="stop")

    context = ReplyContext("Сколько стоит?", "")

    assert growth(lambda given: judge(given, context), reply, 29_500) <= MOST


PAIRS = ["[]", "［］", "【】", "〔〕", "〖〗", "「」", "『』", "⟦⟧", "{}", "｛｝", "<>", "＜＞", "《》"]
PAIRS += ["〈〉", "⟨⟩", "()", "（）"]
SPELT = ["LINK", "LINKS", "URL", "IMG", "PHOTO", "FILE", "VIDEO", "ССЫЛКА", "ФОТО", "ДОКУМЕНТ"]
SPELT += ["LINК", "LİNK", "LıNK", "LIN\u212a", "ＬＩＮＫ", "LΙNK", "IMАGE", "ІMAGE", "FIＬE", "ФOTO", "CCЫЛКА"]


@given(
    st.sampled_from(PAIRS),
    st.sampled_from(["", "* ", "1. ", "🔗 ", "- "]),
    st.sampled_from(SPELT),
    st.sampled_from([":", " : ", "：", "∶", "=", " = ", " ", "|", " - ", " – ", "->"]),
    st.sampled_from([f"Каталог | {PAGE}", PAGE, f"{PAGE} | Каталог", f"Каталог: {PAGE}", f"Каталог｜{PAGE}"]),
    st.booleans(),
)
def test_no_address_in_brackets_passes_unchecked(
    pair: str, lead: str, key: str, sign: str, body: str, closed: bool
) -> None:
    block = f"{pair[0]}{lead}{key}{sign}{body}{pair[1] if closed else ''}"

    assert parse_tags(f"Вот {block}\n{WORDS}").text.replace("Вот\n", "") == WORDS
    assert WORDS in parse_tags(f"Вот {block} {WORDS}").text


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


@given(st.text(alphabet="[]{}|:= \nLINKhtps/.a", max_size=60), st.text(max_size=30))
def test_no_block_survives(block: str, around: str) -> None:
    text = parse_tags(f"{around}[LINK:{block}]{around}").text

    assert "[LINK:" not in text
