import pytest

from bot.incoming.comments import OPEN_MS, may_reply_privately, wants_private_reply
from bot.incoming.events import Channel, Comment


def comment(text: str) -> Comment:
    return Comment(Channel.INSTAGRAM, "17841400000000042", "17900000000000501", "9001000000000123", 0, text)


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Цена?", ["цена"]),
        ("а ЦЕНА какая", ["цена"]),
        ("сколько стоит кружка", ["сколько стоит"]),
        ("Хочу ещё!", ["еще"]),
        ("+", ["+"]),
        ("+++", ["+"]),
        ("что угодно", ["*"]),
        ("ＰＲＩＣＥ please", ["price"]),
    ],
)
def test_a_comment_with_a_keyword_is_answered(text: str, keywords: list[str]) -> None:
    assert wants_private_reply(comment(text), keywords)


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Цена?", []),
        ("бесценно", ["цена"]),
        ("стоит ли сколько", ["сколько стоит"]),
        ("", ["цена"]),
        ("красиво", ["", "  ", "?"]),
    ],
)
def test_any_other_is_not(text: str, keywords: list[str]) -> None:
    assert not wants_private_reply(comment(text), keywords)


def test_a_week_later_it_is_too_late() -> None:
    assert may_reply_privately(1_000, 1_000 + OPEN_MS - 1)
    assert not may_reply_privately(1_000, 1_000 + OPEN_MS)
