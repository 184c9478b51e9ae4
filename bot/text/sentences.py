"""Where sentences end, in the languages that customers write."""

import regex

_END = regex.compile(
    r"[.!?…。！？؟]++[\"'»”’)\]]*+(?:\s?[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F\u200D])*+(?=\s|\Z)"
)

# "г. Москва", "ул. Лесная", "Mr. Brown", "1. Название": the stop ends no sentence.
_NO_END = regex.compile(
    r"(?:^[ \t]*\d{1,3}|\b(?:г|гг|ул|д|кв|стр|корп|им|пр|просп|пер|т|обл|р-н|напр|см|мин|вул|буд"
    r"|Mr|Mrs|Ms|Dr|St|No|vs|e\.g|i\.e))\Z",
    regex.MULTILINE,
)


def sentence_ends(text: str) -> list[int]:
    """Positions right after each sentence, closing quotes and emoji included, ascending."""
    ends: list[int] = []
    for match in _END.finditer(text):
        single_stop = text[match.start() : match.start() + 2].rstrip() == "."
        if single_stop and _NO_END.search(text[max(0, match.start() - 12) : match.start()]):
            continue
        ends.append(match.end())
    return ends


def split_sentences(text: str) -> list[str]:
    """Sentences and lines, trimmed, without empty ones."""
    pieces: list[str] = []
    start = 0
    for end in [*sentence_ends(text), len(text)]:
        pieces.extend(line.strip() for line in text[start:end].split("\n"))
        start = end
    return [piece for piece in pieces if piece]


def trim_to_last_sentence(text: str) -> str:
    """`text` up to the end of its last full sentence or full line; "" when there is none."""
    line_end = text.rfind("\n")
    while line_end > 0 and text[:line_end].rstrip().endswith((":", ",", "-", "—", "(")):
        line_end = text.rfind("\n", 0, line_end)
    ends = sentence_ends(text)
    return text[: max(ends[-1] if ends else 0, line_end, 0)].rstrip()
