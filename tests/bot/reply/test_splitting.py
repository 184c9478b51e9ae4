import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from bot.reply.splitting import limit_for, split_text
from bot.text.visible import is_blank

TEXTS = st.lists(
    st.sampled_from(
        [
            "слово",
            "Да.",
            "Нет!",
            " ",
            "\n",
            "\n\n",
            "👨‍👩‍👧‍👦",
            "e\u0301",
            "https://shop.example/a?b=c",
            "1.",
            "x" * 30,
            "中文",
            "🇰🇿",
            "ะ",
        ]
    ),
    max_size=60,
).map("".join)


def without_space(text: str) -> str:
    return "".join(text.split())


@given(TEXTS | st.text(max_size=200), st.integers(min_value=4, max_value=120))
def test_parts_fit_and_join_back_to_the_text(text: str, limit: int) -> None:
    parts = split_text(text, max_bytes=limit)
    units = split_text(text, max_chars=limit)

    assert all(len(part.encode("utf-8", "surrogatepass")) <= limit for part in parts)
    assert all(len(part.encode("utf-16-le", "surrogatepass")) // 2 <= limit for part in units)
    assert not any(is_blank(part) for part in [*parts, *units])
    position = 0
    for part in parts:  # in order, and nothing readable between them
        found = text.index(part, position)
        assert not any(word for word in text[position:found].split() if not is_blank(word))
        position = found + len(part)


def readable(text: str) -> list[str]:
    """A part that would hold no more than a lone sign is left out, so signs between two cuts do not count."""
    return [cluster for cluster in regex.findall(r"\X", text) if not is_blank(cluster)]


@given(TEXTS, st.integers(min_value=60, max_value=200))
@example("👨\u200d👩\u200d👧\u200d👦ééhttps://shop.example/a?b=c1.1.", 60)
def test_words_and_clusters_stay_whole(text: str, limit: int) -> None:
    parts = split_text(text, max_bytes=limit)
    clusters = set(regex.findall(r"\X", text))

    assert readable("\n".join(parts)) == readable(text)
    assert set(regex.findall(r"\X", "".join(f"{part}\n" for part in parts))) - {"\n"} <= clusters


def test_paragraphs_come_first_then_sentences_then_words() -> None:
    assert split_text("Один два три.\n\nЧетыре пять.", max_chars=20) == ["Один два три.", "Четыре пять."]
    assert split_text("Один два. Три четыре пять.", max_chars=20) == ["Один два.", "Три четыре пять."]
    assert split_text("один два три четыре пять", max_chars=12) == ["один два три", "четыре пять"]


def test_an_abbreviation_ends_no_sentence() -> None:
    assert split_text("Мы на ул. Лесной, дом пять. Ждём вас завтра.", max_chars=30) == [
        "Мы на ул. Лесной, дом пять.",
        "Ждём вас завтра.",
    ]


def test_an_address_moves_to_the_next_part_whole() -> None:
    url = "https://shop.example/catalog/item?id=12345"

    assert split_text(f"Вот ссылка на товар: {url}", max_chars=50) == ["Вот ссылка на товар:", url]


def test_instagram_counts_bytes_and_messenger_characters() -> None:
    cyrillic = "я" * 501

    assert [len(part) for part in split_text(cyrillic, **limit_for("instagram"))] == [500, 1]
    assert split_text(cyrillic, **limit_for("messenger")) == [cyrillic]
    assert [len(part) for part in split_text("👍" * 1001, **limit_for("messenger"))] == [1000, 1]


def test_a_family_is_never_torn_apart() -> None:
    family = "👨‍👩‍👧‍👦"

    assert split_text(family * 3, max_bytes=30) == [family] * 3


def test_a_short_text_is_one_part_and_a_blank_one_none() -> None:
    assert split_text("  Да  ", max_bytes=10) == ["Да"]
    assert split_text("Да") == ["Да"]
    assert split_text(" \u200b ", max_bytes=10) == []


@pytest.mark.parametrize("limits", [{"max_bytes": 3}, {"max_chars": 1}])
def test_a_limit_below_one_code_point_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least one code point"):
        split_text("да", **limits)
