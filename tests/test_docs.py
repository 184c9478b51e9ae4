"""What the pages say of the code is there: files, and the functions of the road in docs/architecture.md."""

import re
from pathlib import Path

import pytest

from tests.rooms import COMMANDS, PRODUCT, ROOT, sources

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "DECISIONS.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOMS = "|".join((*PRODUCT, *COMMANDS, "tests", "benchmarks", "docs"))
A_PATH = re.compile(rf"`((?:{ROOMS})/[\w/.-]*)`")
A_NAME = re.compile(r"`(?:(\w+)\.)?([A-Za-z_]\w+)`(?: \(`)?")
ENDINGS = {"lua", "py", "toml"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_file_that_a_page_names_is_there(page: Path) -> None:
    named = A_PATH.findall(page.read_text(encoding="utf-8"))

    assert [path for path in named if not (ROOT / path.rstrip("/")).exists()] == []


def test_each_function_of_the_road_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    road = page[page.index("## The life of one message") : page.index("## Where would I put")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources(kinds=(".py", ".lua")))
    names = {name for _, name in A_NAME.findall(road)} - ENDINGS

    assert len(names) > 30
    assert {name for name in names if not re.search(rf"\b(?:def|class) {name}\b|\b{name}\b *[:=(]", code)} == set()
