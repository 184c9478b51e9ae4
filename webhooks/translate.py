"""A parsed webhook body as a list of events: every item becomes exactly one, and none can spoil the others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from bot.incoming.events import Channel, Comment, Event, Noted
from bot.incoming.meta_values import TEXT_LIMIT, as_id, as_list, as_mapping, as_ms, as_text
from runtime.logging import get_logger
from webhooks.accounts import Accounts
from webhooks.items import Entry, event_of

log = get_logger(__name__)

_CHANNELS = {"page": Channel.MESSENGER, "instagram": Channel.INSTAGRAM}
_COMMENT_FIELDS = {"comments": "comment", "live_comments": "comment", "mentions": "mention", "feed": "feed"}
# What a `changes` value of a messaging field holds; the dashboard's "Test" button sends messages this way.
_ITEM_KEYS = ("message", "postback", "message_edit", "reaction", "read", "referral", "optin")

MOST_EVENTS = 5_000
"""Of one body; Meta puts at most 1000 into one. Millions of empty items fit into 8 MiB; so many messages are still
stored within the half second that a receiver gives Redis."""


def translate(payload: object, accounts: Accounts, received_ms: int) -> list[Event]:
    """`payload` is what `parse_body` gave; `received_ms` stands in for times that are missing or absurd.

    What is past `MOST_EVENTS` is not looked at: one `surplus` stands for it.
    """
    events = list(islice(_events(payload, accounts, received_ms), MOST_EVENTS + 1))
    if len(events) > MOST_EVENTS:
        events[MOST_EVENTS] = Noted("surplus")
    return events


def _events(payload: object, accounts: Accounts, received_ms: int) -> Iterator[Event]:
    for body in payload if isinstance(payload, list) else [payload]:
        if not isinstance(body, dict):
            yield Noted("unparsable")
            continue
        channel = _CHANNELS.get(as_text(body.get("object")))
        if channel is None:
            yield Noted("unknown_object")
            continue
        our_ids = accounts.on(channel)
        entries = body.get("entry")
        if entries is not None and not isinstance(entries, list | dict):
            yield Noted("unparsable")
        for raw in as_list(entries):
            if isinstance(raw, dict):
                entry = Entry(channel, as_id(raw.get("id")), raw.get("time"), our_ids, received_ms)
                yield from _entry_events(raw, entry)
            else:
                yield Noted("unparsable")


def _entry_events(raw: Mapping[str, Any], entry: Entry) -> Iterator[Event]:
    """`messaging` before `standby`: where a message stands in both, the one that wants an answer comes first."""
    empty = True
    for item in as_list(raw.get("messaging")):
        empty = False
        yield _isolated(event_of, item, entry)
    if raw.get("standby"):
        listening = replace(entry, standby=True)
        for item in as_list(raw["standby"]):
            empty = False
            yield _isolated(event_of, item, listening)
    # One sample of Meta's puts field and value straight into the entry.
    for change in as_list(raw.get("changes")) or ([raw] if raw.get("field") else []):
        empty = False
        yield _isolated(_change, change, entry)
    if empty:
        yield Noted("changed_fields" if raw.get("changed_fields") else "empty_entry", entry.id or "")


def _isolated(read: Callable[[Mapping[str, Any], Entry], Event], item: object, entry: Entry) -> Event:
    """What one item means; whatever goes wrong with it stays with it."""
    if not isinstance(item, dict):
        return Noted("unparsable", entry.id or "")
    try:
        return read(item, entry)
    except Exception as exc:  # noqa: BLE001 - up to a thousand other messages are in the same body
        # The message of the exception may quote the customer, so only its kind and place are told.
        where = exc.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f"{where.tb_frame.f_code.co_name}:{where.tb_lineno}" if where else ""
        log.warning("webhook_item_unparsable", error=type(exc).__name__, place=place, entry_id=entry.id)
        return Noted("unparsable", entry.id or "")


def _change(change: Mapping[str, Any], entry: Entry) -> Event:
    field, value = as_text(change.get("field")), change.get("value")
    if isinstance(value, dict) and field not in _COMMENT_FIELDS and any(key in value for key in _ITEM_KEYS):
        return event_of(value, replace(entry, standby=True) if field == "standby" else entry)
    account_id = entry.our_ids.get(entry.id)
    if account_id is None:
        return Noted("test_event" if entry.id == "0" else "unknown_account", entry.id or "")
    kind = _COMMENT_FIELDS.get(field, "unknown_change")
    if kind == "feed" and isinstance(value, dict) and value.get("item") == "comment":
        kind = "comment"
    comment = _comment(value, entry, account_id) if kind == "comment" and isinstance(value, dict) else None
    return Noted(kind, account_id, comment)


def _comment(value: Mapping[str, Any], entry: Entry, account_id: str) -> Comment | None:
    """A new one that is not ours; None for our own, an edited or hidden one, or one that names no author."""
    comment_id = as_id(value.get("comment_id")) or as_id(value.get("id"))
    author = as_id(as_mapping(value.get("from")).get("id"))
    if not comment_id or not author or author in entry.our_ids or value.get("verb", "add") != "add":
        return None
    text = as_text(value.get("text") or value.get("message"))[:TEXT_LIMIT]
    time = value.get("created_time")
    at_ms = as_ms(entry.time if time is None else time, entry.received_ms)
    return Comment(entry.channel, account_id, comment_id, author, at_ms, text)
