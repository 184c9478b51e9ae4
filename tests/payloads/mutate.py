"""Known payloads with something wrong in one place: a key gone, null, of another type, nested, doubled."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several: a seeded random's `choice`, or a draw of hypothesis."""

_DEEP: Any = {"a": [{"b": None}]}
for _ in range(40):
    _DEEP = {"a": [_DEEP]}

# fmt: off
_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, 0.5, -1e300, 1e308, "", " ", "x", "null",
    "0", "12334", "\x00", "\u200b", "\ud83d", "я" * 9000, "true", "1790000000500", [], {}, [None], [[]], {"id": None},
    {"id": []}, {"": ""}, ["x"], _DEEP,
)
# fmt: on


def mutate(payload: Any, choose: Choose) -> Any:
    """A copy with one thing changed; the payload itself is left alone."""
    wrapped = {"payload": copy.deepcopy(payload)}
    places = list(_places(wrapped["payload"])) or [((), None)]
    where, _ = choose(places)
    holder: Any = wrapped
    for key in ("payload", *where)[:-1]:
        holder = holder[key]
    _spoil(holder, ("payload", *where)[-1], choose)
    return wrapped["payload"]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        pairs: Any = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    else:
        return
    for key, inner in pairs:
        yield (*path, key), inner
        yield from _places(inner, (*path, key))


def _spoil(holder: Any, key: Any, choose: Choose) -> None:
    match choose(("replace", "replace", "replace", "drop", "wrap", "object", "double", "text")):
        case "replace":
            holder[key] = choose(_ODD)
        case "drop" if isinstance(holder, list):
            holder.pop(key)
        case "drop" if key != "payload":
            del holder[key]
        case "wrap":
            holder[key] = [holder[key]]
        case "object":
            holder[key] = {choose(("id", "0", "payload", "text")): holder[key]}
        case "double" if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case "double":
            holder[key] = [holder[key], copy.deepcopy(holder[key])]
        case _:
            holder[key] = str(holder[key])
