"""Markdown and HTML are dropped, and their words stay."""

import pytest

from bot.reply.markup import strip_fences, strip_markup


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**Кружка** стоит *1900*", "Кружка стоит 1900"),
        ("Цена 2*3*4", "Цена 2*3*4"),
        ("[Каталог](https://shop.example/c)", "Каталог: https://shop.example/c"),
        ("`код`", "код"),
        ("~~1900~~ 1500", "1900 1500"),
        ("snake_case_name", "snake_case_name"),
        ("Да, есть.", "Да, есть."),
    ],
)
def test_words_stay_without_their_markup(text: str, plain: str) -> None:
    assert strip_markup(text) == plain


def test_what_stands_between_fences_stays() -> None:
    assert strip_fences("```text\nДа, есть.\n```").strip() == "Да, есть."
    assert strip_fences("Да, есть.") == "Да, есть."
