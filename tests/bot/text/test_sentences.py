"""Where sentences end: stops of abbreviations and of numbered lists end none."""

import pytest

from bot.text.sentences import split_sentences, trim_to_last_sentence


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Да, есть. Привезти?", ["Да, есть.", "Привезти?"]),
        ("Мы на ул. Лесной, г. Москва. Ждём!", ["Мы на ул. Лесной, г. Москва.", "Ждём!"]),
        ("Mr. Brown is in. Hello!", ["Mr. Brown is in.", "Hello!"]),
        ("1. Кружка\n2. Ваза", ["1. Кружка", "2. Ваза"]),
        ("Цена 1.500 рублей", ["Цена 1.500 рублей"]),
        ("«Берёте?» 🙂 Жду.", ["«Берёте?» 🙂", "Жду."]),
        ("はい。あります。", ["はい。あります。"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_text_falls_into_its_sentences_and_lines(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Да, есть. Могу отлож", "Да, есть."),
        ("Есть кружки\nи ваз", "Есть кружки"),
        ("Вот список:\nкру", ""),
        ("без конца", ""),
        ("Есть. ", "Есть."),
    ],
)
def test_what_was_cut_ends_with_its_last_whole_sentence_or_line(text: str, whole: str) -> None:
    assert trim_to_last_sentence(text) == whole
