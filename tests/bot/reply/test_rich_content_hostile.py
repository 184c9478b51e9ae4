"""Rich content in texts that were written to confuse: no error, no work without bound, no address unseen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model_output import Completion
from bot.reply.tags import parse_tags
from bot.reply.validation import ReplyContext, judge
from tests.bot.reply.offers import PAGE, WORDS
from tests.growth import MOST, growth

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


@pytest.mark.slow
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


@given(st.text(alphabet="[]{}|:= \nLINKhtps/.a", max_size=60), st.text(max_size=30))
def test_no_block_survives(block: str, around: str) -> None:
    text = parse_tags(f"{around}[LINK:{block}]{around}").text

    assert "[LINK:" not in text
