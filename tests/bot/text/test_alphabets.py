"""What single characters say of a text."""

import pytest

from bot.text.alphabets import LETTER, count_kinds, scripts_in


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("Привет", {"cyrillic": 6}),
        ("Привет, World 1!", {"cyrillic": 6, "latin": 5}),
        ("こんにちは中国", {"han": 2, "kana": 5}),
        ("مرحبا", {"arabic": 5}),
        ("12 😀 — ₽", {}),
    ],
)
def test_characters_are_counted_by_their_script(text: str, scripts: dict[str, int]) -> None:
    assert scripts_in(count_kinds(text)) == scripts


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ӘҒҚңөұүһ", "kazakh"),
        ("Їіґє", "ukrainian"),
        ("ЫЭъё", "russian"),
        ("Ўђ", "other_cyrillic"),
        ("ğışİ", "turkish"),
        ("ÄßñŁ", "other_latin"),
        ("پچ", "persian"),
    ],
)
def test_letters_that_tell_a_language_are_told_in_either_case(text: str, kind: str) -> None:
    counts = count_kinds(text)

    assert counts[kind] == counts[LETTER] == len(text)


@pytest.mark.parametrize("text", ["Boss", "SS", "I i", "Салем"])
def test_letters_that_all_have_tell_nothing(text: str) -> None:
    assert counts_that_tell(text) == {}


def counts_that_tell(text: str) -> dict[str, int]:
    counts = count_kinds(text)
    return {kind: number for kind, number in counts.items() if kind != LETTER and kind not in scripts_in(counts)}


def test_more_characters_than_are_kept_are_counted_all_the_same() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 9000)))

    assert count_kinds(many)["han"] == 9000
    assert count_kinds(many)["han"] == 9000
