"""The brackets in which a model writes what is no words: `[BUTTONS: ...]`, `[LINK: ...]`; shared by their readers."""

import regex

OPEN, CLOSE = r"[\[［【{<]{1,2}\s{0,3}", r"[\]］】}>]{1,2}"
DRESS = r"[*_`\"']{0,3}"
SIGN = r"\s{0,3}[:=：]"
DRESSING = " \t\r*_`\"'«»“”•·;,[](){}<>"
MARK = "\0"  # stands where a block was cut out

_AROUND_MARK = regex.compile(r"[ \t]*\0[ \t]*")
_BLANK_LINES = regex.compile(r"\n{3,}")


def without_marks(text: str) -> str:
    """`text` with its marks gone, and so are the lines that hold nothing else."""
    lines = [line for line in text.split("\n") if line.strip(DRESSING + MARK) or MARK not in line]
    return str(_BLANK_LINES.sub("\n\n", _AROUND_MARK.sub(" ", "\n".join(lines)))).strip()


def utf16_units(text: str) -> int:
    """What Meta counts as characters: an emoji takes two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
