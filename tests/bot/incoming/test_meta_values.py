"""Values of Meta's, whatever type they come in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.incoming.meta_values import CAPTION_LIMIT, as_caption, as_id, as_list, as_mapping, as_ms, as_text, is_invisible

NOW_MS = 1_797_000_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (1_790_000_000_123, 1_790_000_000_123),
        ("1790000000123", 1_790_000_000_123),
        (1_790_000_000, 1_790_000_000_000),
        ("2026-11-30T08:59:58+0000", min(1796029198000, NOW_MS)),
        (NOW_MS + 1, NOW_MS),
        (0, NOW_MS),
        (-5, NOW_MS),
        (True, NOW_MS),
        (None, NOW_MS),
        ("yesterday", NOW_MS),
        (1e30, NOW_MS),
    ],
)
def test_a_time_is_read_in_any_unit_and_is_never_in_the_future(value: object, ms: int) -> None:
    assert as_ms(value, NOW_MS) == ms


@pytest.mark.parametrize(
    ("value", "expected"),
    [(" 17 ", "17"), (17, "17"), (17.0, None), (True, None), ("", None), (None, None), ([], None)],
)
def test_an_id_is_text_and_a_float_is_none(value: object, expected: str | None) -> None:
    assert as_id(value) == expected


@pytest.mark.parametrize(("text", "nothing"), [("", True), (" \u200b\ufe0f", True), ("?", False), ("🙂", False)])
def test_blanks_and_invisible_signs_say_nothing(text: str, nothing: bool) -> None:
    assert is_invisible(text) is nothing


@given(JSON)
def test_no_value_is_an_error(value: object) -> None:
    assert isinstance(as_mapping(value), dict)
    assert isinstance(as_list(value), list)
    assert "\x00" not in as_text(value)
    caption = as_caption(value)
    assert len(caption) <= CAPTION_LIMIT
    assert not set("[]\n") & set(caption)
    assert 0 < as_ms(value, NOW_MS) <= NOW_MS
