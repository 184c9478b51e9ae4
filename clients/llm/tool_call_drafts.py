"""Tool calls put together from stream deltas that may lack an index, an id, a name or arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from bot.model_output import ToolCall


@dataclass(slots=True)
class _Draft:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)  # vendors' own fields, such as thought signatures


class ToolCallDrafts:
    """Calls in the order they began. Nothing is given out before the end, so no late delta can repeat a call.

    An id that is empty or taken is replaced by `call_<n>`, in the calls and in the raw message alike: results are
    matched by id, and a doubled one would be ambiguous for us and for the server.
    """

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._by_index: dict[int, _Draft] = {}

    def __bool__(self) -> bool:
        return bool(self._drafts)

    def add(self, deltas: Sequence[Any], *, whole: bool) -> bool:
        """Take a `tool_calls` list; with `whole` each item is one call. True if it brought anything but blanks."""
        grew = False
        for delta in deltas:
            if not isinstance(delta, Mapping):
                continue
            function = delta.get("function")
            function = function if isinstance(function, Mapping) else {}
            call_id, name = _text(delta.get("id")), _text(function.get("name"))
            arguments = _arguments(function.get("arguments"))
            blank = not name and not arguments.strip()
            index = delta.get("index")
            draft = self._begin(index) if whole else self._find(index, call_id, name)
            if draft is None:
                if blank:
                    continue  # white space after the last call is not a call
                draft = self._begin(index)
            draft.id = draft.id or call_id
            draft.name = draft.name or name
            draft.arguments.append(arguments)
            draft.extra |= {k: v for k, v in delta.items() if k not in ("id", "index", "type", "function")}
            grew = grew or not blank
        return grew

    def finished(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in self.raw()
        )

    def raw(self) -> list[dict[str, Any]]:
        """As the assistant message wants them back."""
        taken: set[str] = set()
        calls: list[dict[str, Any]] = []
        for draft in self._drafts:
            arguments = _once(draft.arguments).strip()
            if not draft.name and not arguments:
                continue
            call_id = draft.id if draft.id and draft.id not in taken else _free_id(len(calls) + 1, taken)
            taken.add(call_id)
            function = {"name": draft.name, "arguments": arguments or "{}"}
            calls.append({"id": call_id, "type": "function", "function": function, **draft.extra})
        return calls

    def _begin(self, index: Any) -> _Draft:
        draft = _Draft()
        self._drafts.append(draft)
        if isinstance(index, int):
            self._by_index[index] = draft
        return draft

    def _find(self, index: Any, call_id: str, name: str) -> _Draft | None:
        if isinstance(index, int):
            draft = self._by_index.get(index)
            # Some servers give every parallel call the index 0: another id together with a name is another call.
            if draft is not None and name and call_id and draft.id and call_id != draft.id:
                return None
            return draft
        if call_id:
            known = next((draft for draft in self._drafts if draft.id == call_id), None)
            if known is not None or name:
                return known
        last = self._drafts[-1] if self._drafts else None
        if last is not None and name and last.name and not call_id and (name != last.name or _is_json(last.arguments)):
            return None  # the call before it is finished
        return last


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _once(pieces: Sequence[str]) -> str:
    """Arguments that are whole and come again as one piece count once."""
    said = [piece for piece in pieces if piece.strip()]
    before = "".join(said[:-1]).strip()
    repeated = before and before == said[-1].strip() and _is_json([before])
    return before if repeated else "".join(pieces)


def _is_json(pieces: Sequence[str]) -> bool:
    try:
        orjson.loads("".join(pieces))
    except orjson.JSONDecodeError:
        return False
    return True


def _free_id(number: int, taken: set[str]) -> str:
    while (call_id := f"call_{number}") in taken:
        number += 1
    return call_id
