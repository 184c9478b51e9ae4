"""docs/data-model.md shows the data that the code and the tests use."""

import re

from store.schema.key_table import TABLE
from store.schema.page import PAGE, blocks, renewed


def test_the_page_shows_the_tables_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == renewed(page), "renew it: python -m store.schema.page"


def test_every_table_has_its_place_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert re.findall(r"^<!-- (?!end)(.*) -->$", page, re.MULTILINE) == list(blocks())
    assert page.count("<!-- end -->") == len(blocks())


def test_a_table_that_was_changed_is_renewed_and_nothing_else() -> None:
    page = PAGE.read_text(encoding="utf-8")
    changed = page.replace("| `rest` | no message is open |", "| `rest` | it sleeps |")

    assert changed != page
    assert renewed(changed) == page


def test_every_key_stands_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [row.key for row in TABLE if f"\n| `{row.key}` |" not in page] == []
