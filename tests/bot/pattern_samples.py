"""Texts that a pattern should find: between them every alternative of every alternation in it is taken once."""

import re
import warnings
from collections.abc import Sequence
from typing import Any

_LETTERS = "xа1 .\n-"
_CATEGORIES = {"DIGIT": "1", "SPACE": " ", "WORD": "x", "NOT_SPACE": "x", "NOT_WORD": ".", "NOT_DIGIT": "x"}


def samples(source: str, flags: int = 0) -> list[str]:
    """`source` in the words of the standard library's `re`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        tree = re._parser.parse(source, flags)  # type: ignore[attr-defined]  # the one parser of patterns there is
    return _of_sequence(tree)


def _of_sequence(sequence: Any) -> list[str]:
    """One text with the first choice everywhere, then one for each other choice of each item."""
    items = [_of_item(str(kind), value) for kind, value in sequence]
    first = [choices[0] for choices in items]
    texts = ["".join(first)]
    for at, choices in enumerate(items):
        texts += ["".join([*first[:at], choice, *first[at + 1 :]]) for choice in choices[1:]]
    return texts


def _of_item(kind: str, value: Any) -> list[str]:
    match kind:
        case "LITERAL":
            return [chr(value)]
        case "NOT_LITERAL":
            return [next(letter for letter in _LETTERS if letter != chr(value))]
        case "ANY":
            return ["x"]
        case "IN":
            return [_of_class(value)]
        case "BRANCH":
            return [text for arm in value[1] for text in _of_sequence(arm)]
        case "SUBPATTERN" | "ATOMIC_GROUP":
            return _of_sequence(value[-1] if kind == "SUBPATTERN" else value)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, _, repeated = value
            texts = [text * max(least, 1) for text in _of_sequence(repeated)]
            return texts if least else ["", *texts]
        case "ASSERT" if value[0] > 0:
            return ["", *_of_sequence(value[1])]  # what a look ahead wants to see
        case _:  # what takes no room: anchors, borders, looks back
            return [""]


def _of_class(members: Sequence[tuple[Any, Any]]) -> str:
    kinds = [(str(kind), value) for kind, value in members]
    if kinds[0][0] == "NEGATE":
        return next(letter for letter in _LETTERS if not any(_holds(letter, *member) for member in kinds[1:]))
    kind, value = kinds[0]
    if kind == "CATEGORY":
        return _CATEGORIES[str(value).removeprefix("CATEGORY_")]
    return chr(value[0] if kind == "RANGE" else value)


def _holds(letter: str, kind: str, value: Any) -> bool:
    if kind == "CATEGORY":
        classes = {"SPACE": letter.isspace(), "DIGIT": letter.isdigit(), "WORD": letter.isalnum()}
        name = str(value).removeprefix("CATEGORY_")
        return not classes[name.removeprefix("NOT_")] if name.startswith("NOT_") else classes[name]
    return value[0] <= ord(letter) <= value[1] if kind == "RANGE" else chr(value) == letter
