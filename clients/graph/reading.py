"""Reads conversations and single messages back from Meta, with all that makes events of them (meta.md 8.1)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bot.incoming.backfill import ReadBack, read_row, rows_of
from bot.incoming.meta_values import as_id, as_mapping, as_ms, as_text
from clients.graph.api import GraphAPI
from clients.graph.errors import BadContent

THREADS_AT_ONCE = 10  # with up to 20 messages each: more, and Meta asks to reduce the amount of data
READABLE_MESSAGES = 20  # of one conversation; older ones are not given back
_ALWAYS = "id,created_time,from,to,message,attachments"
# One that an account's flavour does not know fails the whole call.
_WHERE_KNOWN = ",shares,story,reply_to,is_unsupported"


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation, its newest messages first; with Instagram Login they are bare ids and times."""

    id: str
    updated_at_ms: int
    party_ids: tuple[str, ...]
    messages: tuple[ReadBack, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """`after` is the cursor of the next one, "" at the end."""

    threads: tuple[Thread, ...]
    after: str


class GraphReading:
    """Each method is one call, which counts in the account's limit of 2 a second, and two for an account's first whose
    flavour does not know every field. Every failure is a `GraphAPIError`."""

    def __init__(self, graph: GraphAPI) -> None:
        self._graph = graph
        self._fields = _ALWAYS + _WHERE_KNOWN

    async def message(self, mid: str, *, now_ms: int) -> ReadBack | None:
        answer = await self._get(quote(mid, safe=""), lambda fields: {"fields": fields})
        return read_row(answer, now_ms=now_ms)

    async def threads(self, *, now_ms: int, after: str = "") -> Page:
        """The account's conversations, the one that was last written in first."""
        page = {"limit": str(THREADS_AT_ONCE)} | ({"after": after} if after else {})
        answer = await self._get("", lambda fields: {**page, "fields": _thread_fields(fields, READABLE_MESSAGES)})
        cursor = as_text(as_mapping(as_mapping(answer.get("paging")).get("cursors")).get("after"))
        has_more = cursor != "" and bool(rows_of(answer))
        return Page(tuple(_thread(row, now_ms) for row in rows_of(answer)), cursor if has_more else "")

    async def thread_with(self, customer_id: str, *, now_ms: int, limit: int) -> Thread | None:
        """The conversation with one customer, and its newest messages."""
        answer = await self._get("", lambda fields: {"user_id": customer_id, "fields": _thread_fields(fields, limit)})
        found = [_thread(row, now_ms) for row in rows_of(answer)]
        return found[0] if found else None

    async def _get(self, path: str, query: Callable[[str], Mapping[str, str]]) -> dict[str, Any]:
        try:
            return await self._graph.get(path, query(self._fields))
        except BadContent:
            if self._fields == _ALWAYS:
                raise
        self._fields = _ALWAYS
        return await self._graph.get(path, query(self._fields))


def _thread_fields(fields: str, limit: int) -> str:
    return f"id,updated_time,participants,messages.limit({limit}){{{fields}}}"


def _thread(row: object, now_ms: int) -> Thread:
    fields = as_mapping(row)
    messages = [read_row(message, now_ms=now_ms) for message in rows_of(fields.get("messages"))]
    parties = [as_id(as_mapping(party).get("id")) for party in rows_of(fields.get("participants"))]
    return Thread(
        as_text(fields.get("id")),
        as_ms(fields.get("updated_time"), now_ms),
        tuple(party for party in parties if party),
        tuple(message for message in messages if message),
    )
