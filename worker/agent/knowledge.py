"""What the business knows: `catalog.csv` and `faq.md` in memory, found by words as customers write them."""

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bot.text.urls import without_addresses
from runtime.files.knowledge import Entry, KnowledgeInvalid, read_entries
from worker.agent.word_forms import COMMON, grams, likeness, slips, spellings, stem_of, words_of

MAX_QUERY_CHARACTERS = 400
MAX_QUERY_WORDS = 16
TITLE_WEIGHT = 2.0
WEAKEST_SHARE = 0.35  # an entry that scores below this share of the best one is noise beside it


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
    return Knowledge(read_entries(root))


__all__ = ["Entry", "Knowledge", "KnowledgeInvalid", "load_knowledge"]
