"""What the business knows: `catalog.csv` and `faq.md` in memory, found by words as customers write them."""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.addresses import without_addresses
from worker.word_forms import COMMON, grams, likeness, slips, spellings, stem_of, words_of

CATALOG_FILE = "catalog.csv"
FAQ_FILE = "faq.md"

MAX_QUERY_CHARACTERS = 400
MAX_QUERY_WORDS = 16
TITLE_WEIGHT = 2.0
WEAKEST_SHARE = 0.35  # an entry that scores below this share of the best one is noise beside it
TITLE_COLUMNS = ("name", "title", "название", "наименование", "товар", "услуга")


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


class Knowledge:
    """An index over entries. It is never changed after it was built, so threads may share it."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        postings: dict[str, dict[int, float]] = defaultdict(dict)
        for number, entry in enumerate(self.entries):
            # An address is to be given, not to be found by: its words are everywhere.
            for word in words_of(without_addresses(entry.text)):
                postings[stem_of(word)].setdefault(number, 1.0)
            for word in words_of(entry.title):
                postings[stem_of(word)][number] = TITLE_WEIGHT
        self._postings = dict(postings)
        self._grams: dict[str, list[str]] = defaultdict(list)
        for stem in sorted(self._postings.keys() - {stem_of(word) for word in COMMON}):
            for gram in grams(stem):
                self._grams[gram].append(stem)

    def search(self, query: str, limit: int = 6) -> list[Entry]:
        """The entries nearest to `query`, best first; none when no word of it is known.

        A word counts by how near it is, whether it stands in the title, and how few entries know it.
        """
        words = list(dict.fromkeys(words_of(query[:MAX_QUERY_CHARACTERS])))
        words = ([word for word in words if word not in COMMON] or words)[:MAX_QUERY_WORDS]
        scores: dict[int, float] = defaultdict(float)
        for word in words:
            best: dict[int, float] = {}
            for stem, near in self._near(word):
                for number, weight in self._postings[stem].items():
                    best[number] = max(best.get(number, 0.0), near * weight)
            for number, score in best.items():
                scores[number] += score * math.log(1 + len(self.entries) / len(best)) ** 2
        if not scores:
            return []
        floor = max(scores.values()) * WEAKEST_SHARE
        ranked = sorted((-score, number) for number, score in scores.items() if score >= floor)
        return [self.entries[number] for _, number in ranked[:limit]]

    def _near(self, word: str) -> list[tuple[str, float]]:
        """Known stems that `word` may mean, with a likeness from 0 to 1."""
        found: dict[str, float] = {}
        for spelling, trust in spellings(word):
            if found.get(stem_of(word)) == 1.0:
                break  # known as it is written: nothing else was meant
            stem = stem_of(spelling)
            if stem in self._postings:
                found[stem] = max(found.get(stem, 0.0), trust)
            if stem.isdigit():
                continue  # 350 is not nearly 250
            shared: dict[str, int] = defaultdict(int)
            stem_grams = grams(stem)
            for gram in stem_grams:
                for candidate in self._grams.get(gram, ()):
                    shared[candidate] += 1
            for candidate, count in shared.items():
                # A slip of the pen spoils four trigrams at most; what shares too few is not worth measuring.
                if candidate != stem and count >= min(len(stem_grams), len(candidate)) - 4 * slips(stem):
                    score = likeness(stem, candidate) * trust
                    if score > found.get(candidate, 0.0):
                        found[candidate] = score
        return [(stem, score) for stem, score in found.items() if score > 0]


def load_knowledge(root: Path) -> Knowledge:
    """Read both files of `root`; raise `KnowledgeInvalid` with every fault."""
    faults: list[str] = []
    entries = [*_read_catalog(root / CATALOG_FILE, faults), *_read_faq(root / FAQ_FILE, faults)]
    if faults:
        raise KnowledgeInvalid(faults)
    return Knowledge(entries)


def _read(path: Path, faults: list[str]) -> str | None:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        faults.append(f"{path} is missing; if there is nothing to put into it, keep it with its first line only")
        return None
    except OSError as exc:
        faults.append(f"{path} cannot be read: {exc.strerror}")
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        faults.append(f'{path}: line {line} is not UTF-8; in Excel save as "CSV UTF-8"')
        return None


def _read_catalog(path: Path, faults: list[str]) -> list[Entry]:
    text = _read(path, faults)
    if text is None:
        return []
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # Excel writes semicolons where the comma is the decimal sign
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    entries: list[Entry] = []
    header: list[str] | None = None
    line = 1
    try:
        for row in reader:
            cells = [" ".join(cell.split()) for cell in row]
            if header is None:
                header = _header(cells, path, faults)
            elif any(cells):
                _add_row(cells, header, f"{path.name}:{line}", f"{path}: line {line}", entries, faults)
            line = reader.line_num + 1
    except csv.Error as exc:
        faults.append(f"{path}: line {line}: {exc}")
    if header is None:
        faults.append(f"{path} is empty; its first line names the columns")
    return entries


def _header(cells: list[str], path: Path, faults: list[str]) -> list[str]:
    while cells and not cells[-1]:  # Excel leaves empty columns at the end
        cells = cells[:-1]
    if not cells:
        faults.append(f"{path}: line 1 must name the columns")
    for number, cell in enumerate(cells, start=1):
        if not cell:
            faults.append(f"{path}: line 1: column {number} has no name")
        elif cell in cells[: number - 1]:
            faults.append(f"{path}: line 1: the column {cell} stands there twice")
    return cells


def _add_row(
    cells: list[str], header: list[str], source: str, where: str, entries: list[Entry], faults: list[str]
) -> None:
    while len(cells) > len(header) and not cells[-1]:
        cells = cells[:-1]
    if len(cells) != len(header):
        faults.append(
            f'{where} has {len(cells)} cells, the header has {len(header)}; put text with a comma into "quotes"'
        )
        return
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
