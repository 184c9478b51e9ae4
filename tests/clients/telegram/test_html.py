import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.telegram.html import cut_html, cut_text, plain_text, utf16_units
from sandbox.telegram.html import UnreadableMarkup, parse_html


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b>Down</b> since 02:14", "Down since 02:14"),
        ("a &lt; b &amp;&amp; c &gt; d &quot;e&quot; &#8364; &#x20AC;", 'a < b && c > d "e" € €'),
        ('<a href="https://crm.example.invalid/1?a=1&amp;b=2">deal</a>', "deal"),
        ("<B>x</B >", "x"),
        ("1 < 2 and <3", "1 < 2 and <3"),
        ("<foo>bar</foo>", "<foo>bar</foo>"),
        ("&nbsp;&copy;", "&nbsp;&copy;"),
        ("<b", "<b"),
        ("строка\nвторая", "строка\nвторая"),
    ],
)
def test_plain_text_is_what_a_reader_would_see(source: str, expected: str) -> None:
    assert plain_text(source) == expected


def test_a_text_that_fits_is_left_alone() -> None:
    source = f"<b>{'&lt;' * 4096}</b>"

    assert cut_html(source) == source


@pytest.mark.parametrize(
    ("source", "limit", "expected"),
    [
        ("<b>abcdef</b>", 4, "<b>abc…</b>"),
        ("<b><i>abcdef</i></b>", 4, "<b><i>abc…</i></b>"),
        ("<b>ab</b>cdef", 4, "<b>ab</b>c…"),
        ("&lt;&lt;&lt;&lt;&lt;", 3, "&lt;&lt;…"),
        ("🚀🚀🚀", 5, "🚀🚀…"),
        ("🚀🚀🚀", 4, "🚀…"),
    ],
)
def test_a_cut_breaks_neither_tag_nor_entity_nor_emoji(source: str, limit: int, expected: str) -> None:
    assert cut_html(source, limit) == expected


@given(st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "&lt;", "&amp;", "a", "🚀", " "]), max_size=40))
def test_a_cut_of_readable_markup_stays_readable(pieces: list[str]) -> None:
    source = "".join(pieces)
    try:
        whole = parse_html(source)
    except UnreadableMarkup:
        return

    text = parse_html(cut_html(source, 5))

    assert utf16_units(text) <= 5
    assert text == whole or (text.endswith("…") and whole.startswith(text[:-1]))


@given(st.text(), st.integers(min_value=1, max_value=10))
def test_cut_text_fits_and_is_a_beginning(source: str, limit: int) -> None:
    text = cut_text(source, limit)

    assert utf16_units(text) <= limit
    assert text == source or source.startswith(text.removesuffix("…"))


@given(st.text())
def test_no_text_breaks_the_reader(source: str) -> None:
    assert utf16_units(plain_text(cut_html(source, 10))) <= 10


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("<foo>x</foo>", 'Unsupported start tag "foo" at byte offset 0'),
        ("да <3", "Unclosed start tag at byte offset 5"),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler"'),
        ("<b onclick=>x</b>", "Unsupported start tag"),
        ("<>", "Unsupported start tag"),
    ],
)
def test_the_stand_in_reads_markup_strictly(source: str, complaint: str) -> None:
    with pytest.raises(UnreadableMarkup, match="can't parse entities") as caught:
        parse_html(source)

    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<b>a</b> &lt;b&gt; &copy; &#65; 1 > 0", "a <b> &copy; A 1 > 0"),
        ('<a href="https://example.invalid/?a=1">x</a><span class="tg-spoiler">y</span>', "xy"),
        ("<blockquote expandable>q</blockquote><pre>p</pre>", "qp"),
    ],
)
def test_the_stand_in_reads_what_telegram_reads(source: str, text: str) -> None:
    assert parse_html(source) == text
