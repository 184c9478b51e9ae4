"""Reads `catalog.csv` and `faq.md`, what the business knows, and names what is wrong in them with its line."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.files.text import TextUnreadable, read_text

CATALOG_FILE = "catalog.csv"
FAQ_FILE = "faq.md"
TITLE_COLUMNS = ("name", "title", "название", "наименование", "товар", "услуга")
DELIMITERS = ",;\t"


class KnowledgeInvalid(Exception):
    """The process must not start; `faults` names each file, its line and what is wrong there."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(tuple(faults))
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "The knowledge files cannot be used:\n" + "\n".join(f"  - {fault}" for fault in self.faults)


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the catalogue or one question of the FAQ. `source` is file and line, for people."""

    title: str
    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.title}\n{self.text}" if self.text else self.title


def read_entries(root: Path) -> list[Entry]:
    """Both files of `root`; raise `KnowledgeInvalid` with every fault."""
    faults: list[str] = []
    entries = [*_read_catalog(root / CATALOG_FILE, faults), *_read_faq(root / FAQ_FILE, faults)]
    if faults:
        raise KnowledgeInvalid(faults)
    return entries


def _read(path: Path, faults: list[str]) -> str | None:
    try:
        return read_text(path, fix='save it as UTF-8; in Excel: "CSV UTF-8"')
    except FileNotFoundError:
        faults.append(f"{path} is missing; if there is nothing to put into it, keep it with its first line only")
    except TextUnreadable as exc:
        faults.append(str(exc))
    return None


def _read_catalog(path: Path, faults: list[str]) -> list[Entry]:
    text = _read(path, faults)
    if text is None:
        return []
    lines = text.splitlines(keepends=True)
    delimiter, before = _delimiter(lines)
    reader = csv.reader(lines[before:], delimiter=delimiter, strict=True)
    entries: list[Entry] = []
    header: list[str] | None = None
    line = before + 1
    try:
        for row in reader:
            cells = [" ".join(cell.split()) for cell in row]
            if header is None:
                header = _header(cells, line, path, faults)
            elif any(cells):
                where = f"{path}: line {line}"
                if fault := _row_fault(cells, header, delimiter):
                    faults.append(f"{where} {fault}")
                else:
                    _add_row(cells, header, f"{path.name}:{line}", where, entries, faults)
            line = before + reader.line_num + 1
    except csv.Error as exc:
        faults.append(f"{path}: line {line}: {exc}")
    if header is None:
        faults.append(f"{path} is empty; its first line names the columns")
    return entries


def _delimiter(lines: Sequence[str]) -> tuple[str, int]:
    """The delimiter, and how many lines stand before the header: Excel may have written `sep=;` there."""
    first = lines[0].strip() if lines else ""
    if first.lower().startswith("sep=") and first[4:] and first[4] in DELIMITERS:
        return first[4], 1
    return max(DELIMITERS, key=first.count), 0  # Excel writes semicolons where the comma is the decimal sign


def _header(cells: list[str], line: int, path: Path, faults: list[str]) -> list[str]:
    while cells and not cells[-1]:  # Excel leaves empty columns at the end
        cells = cells[:-1]
    if not cells:
        faults.append(f"{path}: line {line} must name the columns")
    for number, cell in enumerate(cells, start=1):
        if not cell:
            faults.append(f"{path}: line {line}: column {number} has no name")
        elif cell in cells[: number - 1]:
            faults.append(f"{path}: line {line}: the column {cell} stands there twice")
    return cells


def _row_fault(cells: Sequence[str], header: Sequence[str], delimiter: str) -> str:
    """Why a row cannot be read; "" when it can. Excel leaves out the delimiters before empty cells at a row's end
    (https://github.com/exceljs/exceljs/issues/454), so a shorter row is whole, unless it looks like a part of one."""
    count = len(cells)
    while count > len(header) and not cells[count - 1]:
        count -= 1
    if count > len(header):
        return f'has {count} cells, the header has {len(header)}; put text with a {_NAMES[delimiter]} into "quotes"'
    if count == 1 < len(header):
        others = [other for other in DELIMITERS if other != delimiter and cells[0].count(other) >= len(header) - 1]
        if others:
            return (
                f"is divided by {_NAMES[others[0]]}s, the header by {_NAMES[delimiter]}s; use one of them throughout, "
                f"or write the {_NAMES[delimiter]}s of the empty cells"
            )
        if len(header) > 2:
            return (
                f"has 1 cell, the header has {len(header)}; put text with a line break into "
                f'"quotes", or write the {_NAMES[delimiter]}s of the empty cells'
            )
    return ""


_NAMES = {",": "comma", ";": "semicolon", "\t": "tab"}


def _add_row(
    cells: list[str], header: list[str], source: str, where: str, entries: list[Entry], faults: list[str]
) -> None:
    cells = [*cells, *[""] * (len(header) - len(cells))][: len(header)]
    title_at = next((at for at, name in enumerate(header) if name.casefold() in TITLE_COLUMNS), 0)
    if not cells[title_at]:
        faults.append(f"{where}: {header[title_at]} is empty")
        return
    named = zip(header, cells, strict=True)
    rest = "; ".join(f"{name}: {cell}" for at, (name, cell) in enumerate(named) if cell and at != title_at)
    entries.append(Entry(title=cells[title_at], text=rest, source=source))


def _read_faq(path: Path, faults: list[str]) -> list[Entry]:
    text = _read(path, faults)
    if text is None:
        return []
    entries: list[Entry] = []
    seen: set[str] = set()
    for line, question, answer in _sections(text):
        if not question:
            faults.append(f"{path}: line {line}: the question is empty")
        elif question in seen:
            faults.append(f"{path}: line {line}: the question stands there twice: {question}")
        elif not answer:
            faults.append(f"{path}: line {line}: no answer follows: {question}")
        else:
            entries.append(Entry(title=question, text=answer, source=f"{path.name}:{line}"))
        seen.add(question)
    return entries


def _sections(text: str) -> Iterator[tuple[int, str, str]]:
    """Each `## ` heading with its line number and what stands below it; an introduction above is for people."""
    question: str | None = None
    started, body = 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if line.rstrip() == "##" or line.startswith("## "):
            if question is not None:
                yield started, question, "\n".join(body).strip()
            question, started, body = line[2:].strip(), number, []
        else:
            body.append(line.rstrip())
    if question is not None:
        yield started, question, "\n".join(body).strip()
