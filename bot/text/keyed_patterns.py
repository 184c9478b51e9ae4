"""Patterns behind words: most texts hold none of them, and to see that costs a fraction of a pattern's search.

They are compiled at their first need: all of them together would be a tenth of a process's start.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import regex


class KeyedPattern:
    """A pattern of which every match holds one of `keys`, in whatever case; without keys only its compiling is late.

    `keys` are parted by a comma and a space, so that they read like the words they are. `made` holds all patterns of
    the process, for the caller that compiles them in a quiet moment.
    """

    __slots__ = ("_compiled", "flags", "keys", "source")
    made: ClassVar[list["KeyedPattern"]] = []

    def __init__(self, source: str, flags: int = 0, *, keys: str = "") -> None:
        self.source = source
        self.flags = flags
        self.keys = tuple(dict.fromkeys(folded(keys).split(", "))) if keys else ()
        self._compiled: regex.Pattern[str] | None = None
        self.made.append(self)

    def may_match(self, text: str) -> bool:
        if not self.keys:
            return True
        text = folded(text)
        for key in self.keys:  # noqa: SIM110 - any() over a generator takes twice as long
            if key in text:
                return True
        return False

    def search(self, text: str) -> "regex.Match[str] | None":
        return self.compiled.search(text) if self.may_match(text) else None

    def match(self, text: str) -> "regex.Match[str] | None":
        return self.compiled.match(text) if self.may_match(text) else None

    def fullmatch(self, text: str) -> "regex.Match[str] | None":
        return self.compiled.fullmatch(text) if self.may_match(text) else None

    def find_all(self, text: str) -> "list[regex.Match[str]]":
        return list(self.compiled.finditer(text)) if self.may_match(text) else []

    def sub(self, replacement: "str | Callable[[regex.Match[str]], str]", text: str) -> str:
        return str(self.compiled.sub(replacement, text)) if self.may_match(text) else text

    @property
    def compiled(self) -> "regex.Pattern[str]":
        return self._compiled or self.compile()

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def compile(self) -> "regex.Pattern[str]":
        if self._compiled is None:
            self._compiled = regex.compile(self.source, self.flags)
        return self._compiled


@lru_cache(maxsize=8)
def folded(text: str) -> str:
    """Without case, and with one i for all of Turkish: at least as much is equal then as to `regex.IGNORECASE`."""
    return text.casefold().replace("i\u0307", "i").replace("ı", "i")
