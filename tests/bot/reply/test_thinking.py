"""Thoughts between tags are taken out, and what is left is the answer."""

import pytest

from bot.reply.thinking import strip_thoughts


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>She wants a cup.</think>Да, есть.", "Да, есть."),
        ("<think>\nно\n</think>\n\nДа.\n<think>всё?</think>", "Да."),
        ("She wants a cup.</think>Да, есть.", "Да, есть."),
        ("Да, есть.", "Да, есть."),
        ("<think>без конца", ""),
    ],
)
def test_what_a_customer_reads_holds_no_thoughts(text: str, answer: str) -> None:
    assert strip_thoughts(text).text.strip() == answer
