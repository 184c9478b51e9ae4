import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.visible import is_blank

READABLE = [
    "undefineds",
    "none of it",
    "null и null",
    "ok",
    "нет",
    "5",
    "👍",
    "❤️",
    "👨‍👩‍👧",
    "€",
    "%",
    "+",
    "1️⃣",
    "#️⃣",
    "‼️",
    "\U0001faef",
    "🏻",
    ":)",
    "中",
    "None.",
    "©",
    "nan?",
]
BLANK = [
    "",
    " ",
    "\n\n",
    "\t",
    "\u00a0",
    "\u2028",
    "\u0085",
    "\u200b",
    "\u200c",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u180e",
    "\u2800",
    "\u115f",
    "\u1160",
    "\u3164",
    "\uffa0",
    "\ufe0f",
    "\U000e0041\U000e0042",
    "\x00\x07",
    "\ue000",
    "\ufffd",
    "?",
    "...",
    "—",
    "«»",
    '""',
    "---",
    "```",
    "**",
    "{}",
    "[]",
    "()",
    "<>",
    "|",
    "`",
    "━━━━",
    "_ _",
    "· · ·",
    "null",
    "NULL",
    "None",
    "none",
    "undefined",
    "NaN",
    '"null"',
    "`None`",
    "**null**",
    "{null}",
    "n u l l",
    "un de fi ned",
    "u\u200bndefined",
]


@pytest.mark.parametrize("text", READABLE)
def test_what_can_be_read_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize("text", BLANK)
def test_what_nobody_can_read_is_blank(text: str) -> None:
    assert is_blank(text)


@given(st.sampled_from(READABLE), st.text(alphabet="\u200b\u2060\ufeff \n\u2800\ufe0f"))
def test_invisible_neighbours_change_nothing(readable: str, invisible: str) -> None:
    assert not is_blank(invisible + readable + invisible)
    assert is_blank(invisible)
