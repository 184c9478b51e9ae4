"""What the scripts know from Python: each gets those constants that it names, when it is loaded.

A value that both sides go by stands in Python alone. Times are in milliseconds, sets are tables of `true`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from bot.conversation import MAY_HAVE_ARRIVED, NO_WORDS, PartState
from bot.messaging_window import MARGIN_MS, WARNING_MS, WINDOW_MS
from bot.outcome import FOR_PEOPLE, TELLS_CUSTOMER
from store.limits import ALIVE_SECONDS, FLOOD_CAP, HISTORY_LINES, SEEN_SECONDS

Constant = int | str | frozenset[str]

CONSTANTS: Final[Mapping[str, Constant]] = {
    "ALIVE_MS": ALIVE_SECONDS * 1000,
    "FLOOD_CAP": FLOOD_CAP,
    "FOR_PEOPLE": frozenset(FOR_PEOPLE),
    "HISTORY_LINES": HISTORY_LINES,
    "MARGIN_MS": MARGIN_MS,
    "NO_WORDS": NO_WORDS,
    "NOT_SENT": frozenset(PartState) - MAY_HAVE_ARRIVED,
    "SEEN_MS": round(SEEN_SECONDS * 1000),
    "SETTLED": frozenset(PartState) - {PartState.SENDING},
    "TELLS_CUSTOMER": frozenset(TELLS_CUSTOMER),
    "WARNING_MS": WARNING_MS,
    "WINDOW_MS": WINDOW_MS,
}


def lua_constant(name: str) -> str:
    return f"local {name} = {_literal(CONSTANTS[name])}"


def _literal(value: Constant) -> str:
    match value:
        case int():
            return str(value)
        case str():
            return _quoted(value)
        case _:
            return "{" + _true_for(sorted(value)) + "}"


def _true_for(names: Iterable[str]) -> str:
    return ", ".join(f"[{_quoted(str(name))}] = true" for name in names)


def _quoted(text: str) -> str:
    """Raise `ValueError` for what Lua would have to escape: no constant needs it."""
    if not text.isprintable() or "'" in text or "\\" in text:
        raise ValueError(text)
    return f"'{text}'"
