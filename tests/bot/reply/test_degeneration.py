"""Text that has come apart, and text that only looks so."""

import pytest

from bot.reply.degeneration import is_garbled, is_looping, is_said_twice

ANSWER = "Да, красная кружка есть, стоит 1900 рублей, отложить для вас?"
PIECES = ("Да, красная ", "кружка есть, ", "стоит 1900 ", "рублей.")


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("я не знаю что сказать " * 30, True),
        ("а" * 200, True),
        ("ха" * 60, True),
        ("🎉" * 120, True),
        ("Ура! Ура! Ура!", False),
        (ANSWER, False),
        ("", False),
    ],
)
def test_endless_repetition_is_found(text: str, loops: bool) -> None:
    assert is_looping(text) is loops


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ("ÐÑÐ¸Ð²ÐµÑ, ÐºÐ°Ðº Ð´ÐµÐ»Ð°?", True),
        (ANSWER, False),
        ("Super! Спасибо 🙂", False),
    ],
)
def test_mojibake_is_found(text: str, is_broken: bool) -> None:
    assert is_garbled(text) is is_broken


@pytest.mark.parametrize(
    ("text", "is_doubled"), [("".join(piece * 2 for piece in PIECES), True), ("".join(PIECES), False), (ANSWER, False)]
)
def test_a_stream_whose_pieces_came_twice_is_found(text: str, is_doubled: bool) -> None:
    assert is_said_twice(text) is is_doubled
