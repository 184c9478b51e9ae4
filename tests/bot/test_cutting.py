import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.transcript import Transcript
from bot.conversation import HistoryLine, OpenMessage
from bot.cutting import cut_middle, recent


@pytest.mark.parametrize(("text", "most"), [("", 10), ("short", 10), ("exactly ten", 11), ("x" * 500, 0)])
def test_what_fits_is_whole(text: str, most: int) -> None:
    assert cut_middle(text, most) == text


def test_the_newest_words_keep_most_of_the_room_and_the_model_is_told() -> None:
    text = "".join(f"{n:04d} " for n in range(2000))

    cut = cut_middle(text, 1000)

    head, note, tail = cut.split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert (len(head), len(tail)) == (250, 750)
    assert note == "[9000 characters of what was written are left out here]"


@given(st.text(max_size=400), st.integers(1, 100))
def test_no_cut_is_longer_than_it_may_be_but_for_its_note(text: str, most: int) -> None:
    assert len(cut_middle(text, most)) <= max(len(text), most + 80) if len(text) > most else True


def test_an_address_is_not_cut_in_two() -> None:
    text = "a" * 200 + " https://shop.example.org/mugs/mist?size=large " + "b" * 700

    assert "https://shop.example.org/mugs/mis " not in cut_middle(text, 900)
    assert "https://sh\n" not in cut_middle(text, 850)


def test_of_the_history_the_newest_lines_are_kept() -> None:
    lines = [HistoryLine("customer", f"{n:02d} " + "я" * 97, n) for n in range(30)]

    kept = recent(lines, 1000)

    assert [line.at_ms for line, _ in kept] == list(range(20, 30))
    assert [words for _, words in kept] == [line.text for line in lines[20:]]
    assert len(recent(lines, 0)) == 30


def test_one_line_that_is_too_long_is_cut_like_a_burst() -> None:
    (kept,) = recent([HistoryLine("customer", "я" * 50_000, 1)], 1000)

    assert len(kept[1]) < 1100


@pytest.mark.parametrize("shape", ["one message", "many messages", "many emoji"])
def test_a_burst_without_measure_costs_what_a_long_one_does(shape: str) -> None:
    texts = {
        "one message": ["слово " * 40_000],
        "many messages": ["слово и слово " * 70] * 230,
        "many emoji": ["👩‍👩‍👧‍👦😊" * 2000] * 10,
    }[shape]
    burst = [OpenMessage(f"k{n}", f"m{n}", n, n, text) for n, text in enumerate(texts)]
    history = [HistoryLine("customer", "история " * 2500, n) for n in range(30)]

    messages = Transcript(
        history, [*burst, OpenMessage("z", "z", 9, 9, "Так сколько стоит?")], most_chars=12_000
    ).messages("system")

    said = "".join(str(message["content"]) for message in messages)
    assert len(said) < 25_000
    assert said.endswith("Так сколько стоит?")
    assert "are left out here]" in said
