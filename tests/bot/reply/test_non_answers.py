"""Words that are no answer: thoughts about the customer, both sides of a talk, excuses for a silence."""

import pytest

from bot.reply.non_answers import announces_a_lookup, is_monologue, plays_both_sides, without_kick


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Internal note: the customer wants a discount.", True),
        ("Заметка для менеджера: перезвонить.", True),
        ("Да, красная кружка есть.", False),
        ("Our customers love this cup.", False),
    ],
)
def test_a_note_to_colleagues_is_no_answer(text: str, is_one: bool) -> None:
    assert is_monologue(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_played"),
    [
        ("Клиент: есть кружка?\nАссистент: да, есть.", True),
        ("User: hi\nAssistant: hello", True),
        ("Клиент: это звучит гордо.", False),
        ("Да, есть.", False),
    ],
)
def test_a_talk_with_both_sides_written_is_no_answer(text: str, is_played: bool) -> None:
    assert plays_both_sides(text) is is_played


@pytest.mark.parametrize(
    ("text", "nudged", "rest"),
    [
        ("Извините за пустой ответ. Да, кружка есть.", False, "Да, кружка есть."),
        ("Sorry for the empty reply. Yes, we have it.", False, "Yes, we have it."),
        ("Простите за молчание. Да, есть.", True, "Да, есть."),
        ("Простите за молчание. Да, есть.", False, None),
        ("Sorry for the empty reply.", False, ""),
        ("Да, есть.", True, None),
    ],
)
def test_an_excuse_for_our_own_nudge_is_cut_where_it_can_be(text: str, nudged: bool, rest: str | None) -> None:
    assert without_kick(text, nudged=nudged) == rest


@pytest.mark.parametrize(
    ("text", "is_announced"),
    [("Let me check the catalogue for you.", True), ("Сейчас посмотрю в каталоге.", True), ("Да, кружка есть.", False)],
)
def test_a_lookup_that_is_only_announced_is_no_answer(text: str, is_announced: bool) -> None:
    assert announces_a_lookup(text) is is_announced
