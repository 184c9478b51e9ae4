"""What receive.lua is told of an event.

Each kind has a function here, its fields in `store/assembly/event_fields.py`, and a file in `store/lua/receive/` that
says what they mean. A key is the short name of an event, by which it is known when it comes again.
"""

from dataclasses import replace
from typing import Any

import orjson

from bot.alerts.alert import Alert
from bot.conversation import NO_WORDS
from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
    conversation_id,
)
from bot.incoming.meta_values import is_invisible
from bot.retry import RESTRICTED_SECONDS
from runtime.clock import utc_day
from store.assembly.event_fields import (
    ActionFields,
    DeletionFields,
    EchoFields,
    EditFields,
    Fields,
    MessageFields,
    NotedFields,
    PolicyFields,
    ThreadControlFields,
    UnreadFields,
)
from store.hashing import bare_hash, key_of, text_hash
from store.outboxes.alerts import packed
from store.outboxes.unread_messages import unread_alert

# What the parts of a reply carry as Messenger `metadata`, so that their echo can be told apart.
METADATA_PREFIX = "ns:"


def fields_of(event: Event, *, app_id: str, media_kinds: frozenset[str], now_ms: int) -> Fields:
    """`app_id` is our own app's ("" where it is not known), `media_kinds` those that are put into words: addresses of
    media that is not read are not kept."""
    match event:
        case CustomerMessage():
            return _message(event, media_kinds)
        case Echo():
            return _echo(event, app_id)
        case Noted():
            return _unread(event.kind, event.unread, now_ms) if event.unread else _noted(event, now_ms)
        case Edit():
            return _edit(event)
        case Deletion():
            return _deletion(event)
        case CustomerAction():
            return ActionFields("action", event.contact.conversation_id, str(event.at_ms), event.kind)
        case ThreadControl():
            return _thread_control(event, app_id)
        case PolicyEnforcement():
            return _policy(event, now_ms)


def _whose(contact: Contact) -> tuple[str, str, str, str]:
    """The conversation, and its three parts."""
    return contact.conversation_id, contact.channel.value, contact.account_id, contact.customer_id


def _message(event: CustomerMessage, media_kinds: frozenset[str]) -> Fields:
    key, deletion_key = key_of(event.kind.value, event.mid), key_of("deletion", event.mid)
    reason = event.closed_as.value if event.closed_as else ""
    body = _body(event, media_kinds)
    whose = _whose(event.contact)
    return MessageFields("message", *whose, key, str(event.at_ms), reason, deletion_key, event.found, body)


def _body(message: CustomerMessage, media_kinds: frozenset[str]) -> bytes:
    """What the turn will read; empty fields are left out, since Lua knows no empty list."""
    body: dict[str, Any] = {"mid": message.mid, "kind": message.kind.value, "at": message.at_ms}
    if message.text:
        body["text"] = message.text
    if message.notes:
        body["notes"] = list(message.notes)
    if message.needs_text:
        body["needs_text"] = True
    if message.media:
        media = [[m.kind.value, m.url, m.note] for m in message.media if m.kind.value in media_kinds]
        if media:
            body["media"] = media
    return _json(body)


def _echo(event: Echo, app_id: str) -> Fields:
    kind = "late_echo" if event.found else "echo"
    key = key_of("echo", event.mid)
    is_ours = "1" if app_id and event.app_id == app_id else ""
    metadata = event.metadata or ""
    tag = metadata.removeprefix(METADATA_PREFIX) if metadata.startswith(METADATA_PREFIX) else ""
    words = "\n".join([*event.notes, event.text] if event.text.strip() else event.notes)
    is_empty = is_invisible(event.text) and not event.notes and not event.attached
    line = b"" if is_empty else _json({"role": "business", "text": words or NO_WORDS, "at": event.at_ms, "key": key})
    whose = _whose(event.contact)
    return EchoFields(kind, *whose, key, str(event.at_ms), _likeness(event), is_ours, tag, line)


def _likeness(echo: Echo) -> str:
    """What tells an echo as ours while its mid is not known; on Messenger its metadata tells a bare attachment, unless
    it was read back."""
    by_kind = echo.contact.channel is Channel.INSTAGRAM or echo.found
    if not echo.text.strip() and len(echo.attached) == 1 and by_kind:
        return bare_hash(echo.attached[0])
    return text_hash(echo.text)


def _edit(event: Edit) -> Fields:
    return EditFields(
        "edit",
        *_whose(event.contact),
        key=key_of(f"edit {event.number}", event.mid),
        original=key_of("message", event.mid),
        number=str(event.number),
        text=_json(event.text),
    )


def _deletion(event: Deletion) -> Fields:
    key = key_of("deletion", event.mid)
    return DeletionFields("deletion", *_whose(event.contact), key=key, original=key_of("message", event.mid))


def _thread_control(event: ThreadControl, app_id: str) -> Fields:
    owner = event.owner_app_id
    if owner is None and event.kind == "pass":
        return _counted("idle_thread_control")
    # Without our own app's id Meta's custom decides: who is passed a thread is told so, and who loses one.
    is_ours = owner == app_id if app_id else event.kind == "pass"
    return ThreadControlFields(
        "thread_control",
        *_whose(event.contact),
        key=key_of(f"{event.kind}_thread_control", f"{event.contact.customer_id} {event.at_ms} {owner}"),
        action=event.kind,
        is_ours="1" if is_ours else "",
    )


def _policy(event: PolicyEnforcement, now_ms: int) -> Fields:
    """Meta's warning or block of an account; an unblock lifts the block and is not told."""
    channel, account_id = event.channel.value, event.account_id
    told = Alert(f"account_policy_{event.action}", detail=event.reason, channel=channel, account=account_id)
    alert = packed(replace(told, first_at=now_ms)) if event.action in ("block", "warning") else ""
    return PolicyFields(
        "policy",
        channel=channel,
        account_id=account_id,
        key=key_of("policy_enforcement", f"{channel} {account_id} {event.action} {event.at_ms}"),
        action=event.action,
        # Should the unblock be lost, a send tries every so often whether the block still stands.
        longest_ms=str(round(RESTRICTED_SECONDS * 1000)),
        alert=alert,
    )


def _unread(counted_as: str, unread: UnreadMessage, now_ms: int) -> Fields:
    """A worker reads it by its mid (store/outboxes/unread_messages.py)."""
    channel, account_id, customer_id = unread.channel.value, unread.account_id, unread.customer_id
    alert_id, alert = unread_alert(channel, account_id, now_ms=now_ms)
    return UnreadFields(
        "unread",
        counted_as=counted_as,
        cid=conversation_id(channel, account_id, customer_id) if customer_id else "",
        key=key_of("message", unread.mid),
        alert_id=alert_id,
        alert=packed(alert),
        record=_json({"channel": channel, "account": account_id, "mid": unread.mid, "at": unread.at_ms}),
    )


def _noted(event: Noted, now_ms: int) -> Fields:
    """One alert for each account that is not configured, one a day about what is too old."""
    if not event.account_id or event.kind not in ("unknown_account", "too_old"):
        return _counted(event.kind)
    account = event.account_id[:40]
    about = account if event.kind == "unknown_account" else utc_day(now_ms)
    alert = Alert(event.kind, detail=account, first_at=now_ms)
    return NotedFields("noted", event.kind, f"system:{event.kind}:{about}", packed(alert))


def _counted(kind: str) -> Fields:
    return NotedFields("noted", kind, "", "")


def _json(value: object) -> bytes:
    """Bytes, since making it text only for it to be made bytes again is a good part of what an event costs."""
    return orjson.dumps(value)
