"""A key that a match can do without would let it pass unseen."""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest
import regex

import bot
from bot.text.keyed_patterns import KeyedPattern, folded
from tests.bot.pattern_samples import samples

for module in iter_modules(bot.__path__):
    import_module(f"bot.{module.name}")

KEYED = [pattern for pattern in KeyedPattern.made if pattern.keys]


def name_of(pattern: KeyedPattern) -> str:
    return pattern.source.strip()[:40]


@pytest.mark.parametrize("pattern", KEYED, ids=name_of)
def test_every_match_holds_a_key(pattern: KeyedPattern) -> None:
    found = [text for text in samples(_for_the_standard_library(pattern.source), pattern.flags) if finds(pattern, text)]

    assert found
    assert [text for text in found if not pattern.may_match(text)] == []
    assert [text for text in found if finds(pattern, text.upper()) and not pattern.may_match(text.upper())] == []


def finds(pattern: KeyedPattern, text: str) -> bool:
    return pattern.compiled.search(text) is not None


def _for_the_standard_library(source: str) -> str:
    source = source.replace(r"\p{Cyrillic}", "[а-я]").replace(r"(?<=\S\s{0,9})", "x")
    return re.sub(r"\(\?P<\w+>", "(?:", source)  # names that stand twice, and some that do not


@pytest.mark.parametrize("text", ["İNGİLİZCE", "ingilizce", "INGILIZCE"])
def test_a_turkish_capital_i_is_an_i(text: str) -> None:
    pattern = KeyedPattern("ingilizce", regex.IGNORECASE, keys="ingilizce")

    assert pattern.compiled.search(text)
    assert pattern.search(text)


def test_a_text_without_a_key_is_not_searched() -> None:
    pattern = KeyedPattern("a|b", keys="b")

    assert pattern.search("a") is None
    assert pattern.search("ab")
    assert pattern.sub("", "a") == "a"
    assert pattern.sub("", "ab") == ""
    assert [found[0] for found in pattern.find_all("ab")] == ["a", "b"]


def test_without_keys_every_text_is_searched() -> None:
    assert KeyedPattern("a").search("a")


def test_folding_changes_nothing_that_a_key_may_hold() -> None:
    assert [folded(key) for pattern in KEYED for key in pattern.keys] == [
        key for pattern in KEYED for key in pattern.keys
    ]
