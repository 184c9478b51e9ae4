"""What a stream says twice is read once, and nothing else is lost."""

import pytest

from clients.llm.stream_text import assembled, joined, once

SAID = "Есть кружка «Туман» за 1 900 рублей, отложить?"


@pytest.mark.parametrize(
    "pieces",
    [
        [SAID],
        [SAID[:9], SAID[9:]],
        [SAID[:9], "", SAID[9:], SAID],
        [SAID[:9], SAID[:30], SAID],
        [SAID, SAID],
    ],
)
def test_a_piece_that_repeats_all_before_it_counts_once(pieces: list[str]) -> None:
    assert assembled(pieces) == SAID


@pytest.mark.parametrize("pieces", [["ха", "ха", "хаха"], ["1", "0", "10"], ["Да, да, ", "да!"], ["Да. ", "Да."], []])
def test_short_words_that_are_alike_are_all_said(pieces: list[str]) -> None:
    assert assembled(pieces) == "".join(pieces)


@pytest.mark.parametrize("between", ["", " ", "\n\n"])
def test_a_reply_written_twice_is_read_once(between: str) -> None:
    assert once(f"{SAID}{between}{SAID}") == SAID


@pytest.mark.parametrize("text", ["Да, есть. Да, есть.", f"{SAID} И ещё: {SAID}", ""])
def test_other_repetition_is_the_replys_own(text: str) -> None:
    assert once(text) == text


def test_halves_of_an_emoji_are_put_together() -> None:
    assert joined(["Да \ud83d", "\ude42"]) == "Да 🙂"
    assert joined(["Да \ud83d"]) == "Да \ufffd"
