"""Reads a file that people edit: UTF-8 with or without a byte order mark; any other encoding is named with its line."""

import codecs
from pathlib import Path

SAVE_AS_UTF8 = "save it as UTF-8"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextUnreadable(Exception):
    """`what` is wrong with the file, naming it and its line; `fix` is what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}"


def read_text(path: Path, *, fix: str = SAVE_AS_UTF8) -> str:
    """The text of `path` without its byte order mark; raise `TextUnreadable`, or FileNotFoundError as it is."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise
    except IsADirectoryError as exc:
        raise TextUnreadable(f"{path} is a folder", "a file has to stand there") from exc
    except OSError as exc:
        raise TextUnreadable(f"{path} cannot be read: {exc.strerror}", "give this user the right to read it") from exc
    if raw.startswith(_UTF16) or b"\0" in raw:  # no text that people write holds a zero byte in UTF-8
        raise TextUnreadable(f"{path} is UTF-16, not UTF-8", fix)
    try:
        return raw.decode("utf-8-sig")  # Notepad writes a byte order mark
    except UnicodeDecodeError as exc:
        # `exc.start` counts from behind a byte order mark, which holds no line break.
        start = exc.start + (len(codecs.BOM_UTF8) if raw.startswith(codecs.BOM_UTF8) else 0)
        line = raw.count(b"\n", 0, start) + 1
        raise TextUnreadable(f"{path}: line {line} is not UTF-8{_guess(raw)}", fix) from exc


def has_byte_order_mark(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _guess(raw: bytes) -> str:
    """Russian Windows saves text in cp1251 unless told otherwise, so that is worth naming."""
    text = raw.decode("cp1251", "replace")
    letters = [character for character in text if ord(character) > 0x7F]
    cyrillic = sum(1 for character in letters if "а" <= character.lower() <= "я" or character in "ёЁ")
    return " (it looks like Windows-1251)" if letters and cyrillic / len(letters) > 0.8 else ""
