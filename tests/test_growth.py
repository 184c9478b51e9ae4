"""The yardstick itself: it passes what is even and finds what is not."""

import pytest

from tests.growth import MOST, growth


def numbers(size: int) -> list[int]:
    return list(range(size))


def doubles_by_hand(given: list[int]) -> int:
    return sum(1 for number in given for _ in (number,))


def squares(given: list[int]) -> int:
    return sum(1 for one in given for other in given if one == other)


def searches_what_it_has_seen(given: list[int]) -> list[int]:
    """The square that hides in a linear loop: `in` walks the list."""
    seen: list[int] = []
    for number in given:
        if number not in seen:
            seen.append(number)
    return seen


def eats_its_head(text: str) -> None:
    """The other usual one: what is left is copied at each step."""
    while text:
        text = text[1:]


@pytest.mark.parametrize("act", [doubles_by_hand, sorted, sum])
def test_even_work_passes(act: object) -> None:
    assert callable(act)
    assert growth(act, numbers, 20_000) <= MOST


@pytest.mark.parametrize("act", [squares, searches_what_it_has_seen])
def test_a_square_is_found(act: object) -> None:
    assert callable(act)
    assert growth(act, numbers, 300) > MOST


def test_a_square_of_copies_is_found() -> None:
    assert growth(eats_its_head, lambda size: "ж" * size, 20_000) > MOST


def test_work_below_what_a_clock_can_see_is_repeated_until_it_can() -> None:
    assert growth(len, numbers, 10) <= MOST
