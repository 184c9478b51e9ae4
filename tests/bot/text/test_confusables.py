"""The copy in which tags are found, whatever letters a model wrote them with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.confusables import fold_confusables


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("［VERDICT：CHAT］", "[VERDICT:CHAT]"),
        ("ＴＡＳＫ", "TASK"),
        ("VЕRDIСT", "VERDICT"),  # a Cyrillic Е and С
        ("кнoпки", "кнопки"),  # a Latin o
        ("Да, есть кружка.", "Да, есть кружка."),
        ("plain words", "plain words"),
    ],
)
def test_signs_and_letters_are_read_as_what_they_look_like(text: str, folded: str) -> None:
    assert fold_confusables(text) == folded


@given(st.text(max_size=60))
def test_the_copy_is_as_long_as_the_text(text: str) -> None:
    assert len(fold_confusables(text)) == len(text)
