from hypothesis import given
from hypothesis import strategies as st

from bot.agent.scratchpad import KEPT_MS, MAX_BYTES, read_scratchpad, write_scratchpad


def test_what_was_found_comes_back_within_a_day() -> None:
    note = write_scratchpad(["search кружка\nКружка, 1900", "search курс\nКурс, 5000"], "", at_ms=1_000)

    assert read_scratchpad(note, now_ms=1_000 + KEPT_MS) == ("search кружка\nКружка, 1900", "search курс\nКурс, 5000")
    assert read_scratchpad(note, now_ms=1_001 + KEPT_MS) == ()


def test_nothing_found_is_no_note() -> None:
    assert write_scratchpad([], " ", at_ms=1) == ""
    assert read_scratchpad("", now_ms=1) == ()


def test_an_unfinished_draft_is_kept_and_marked() -> None:
    (draft,) = read_scratchpad(write_scratchpad([], "Кружка стоит", at_ms=1), now_ms=1)

    assert draft.startswith("[An unfinished draft")
    assert draft.endswith("Кружка стоит")


def test_the_newest_findings_are_kept_longest() -> None:
    note = write_scratchpad(["старое " * 400, "новое " * 400, "последнее"], "", at_ms=1)
    found = read_scratchpad(note, now_ms=1)

    assert found[-1] == "последнее"
    assert found[-2] == "новое " * 400
    assert not any("старое" in text for text in found)


@given(st.lists(st.text(max_size=9000), max_size=5), st.text(max_size=9000))
def test_a_note_is_never_too_large_and_always_readable(found: list[str], draft: str) -> None:
    note = write_scratchpad(found, draft, at_ms=5)

    assert len(note.encode("utf-8", "replace")) <= MAX_BYTES
    read_scratchpad(note, now_ms=6)


@given(st.text(max_size=200))
def test_a_broken_note_is_no_note(text: str) -> None:
    assert isinstance(read_scratchpad(text, now_ms=1), tuple)
