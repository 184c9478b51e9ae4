"""Webhooks as Meta builds them: items, envelopes, Meta's own escaping of JSON, and the signature over it."""

import hashlib
import hmac
import itertools
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.incoming.events import Channel
from runtime.settings import Account

PAGE_INBOX_APP_ID = 263902037430900
MOST_IN_A_BATCH = 1000


@dataclass(frozen=True, slots=True)
class WebhookItem:
    """One element of `messaging[]` (or `standby[]`) on its way to us, and the account it concerns."""

    account: Account
    item: Mapping[str, Any]
    field: str = "messaging"


def new_mid(channel: Channel) -> str:
    """As long as real ones: a column or a key that is too short for them shows at once."""
    if channel == Channel.MESSENGER:
        return "m_" + secrets.token_urlsafe(96)
    return "aWdfZAG1faXRlbToxOkl" + secrets.token_urlsafe(112)


def message_item(
    account: Account,
    customer_id: str,
    *,
    at_ms: int,
    text: str | None = None,
    attachments: Iterable[Mapping[str, Any]] = (),
    mid: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> WebhookItem:
    """A customer writes. `extra` is merged into `message`: quick_reply, reply_to, referral, is_deleted..."""
    message: dict[str, Any] = {"mid": mid or new_mid(account.channel)}
    if text is not None:
        message["text"] = text
    if parts := [dict(part) for part in attachments]:
        message["attachments"] = parts
    return _from_customer(account, customer_id, at_ms, message=message | dict(extra or {}))


def attachment_item(
    account: Account,
    customer_id: str,
    *,
    at_ms: int,
    kind: str = "image",
    url: str | None = None,
    mid: str | None = None,
) -> WebhookItem:
    """A customer sends a file; view-once and unsupported kinds come without a url."""
    part: dict[str, Any] = {"type": kind}
    if url is not None:
        part["payload"] = {"url": url}
    return message_item(account, customer_id, at_ms=at_ms, attachments=[part], mid=mid)


def postback_item(
    account: Account, customer_id: str, *, at_ms: int, title: str, payload: str, mid: str | None = None
) -> WebhookItem:
    """A customer taps a button, an ice breaker or the menu."""
    postback = {"mid": mid or new_mid(account.channel), "title": title, "payload": payload}
    return _from_customer(account, customer_id, at_ms, postback=postback)


def ghost_edit_item(
    account: Account, customer_id: str, *, at_ms: int, mid: str, text: str | None = None, has_parties: bool = False
) -> WebhookItem:
    """An edit numbered 0 around a new message, or in its place; most come without parties and words."""
    edit: dict[str, Any] = {"mid": mid, "num_edit": 0}
    if text is not None:
        edit["text"] = text
    if has_parties:
        return _from_customer(account, customer_id, at_ms, message_edit=edit)
    return WebhookItem(account, {"timestamp": at_ms, "message_edit": edit})


def comment_item(
    account: Account, customer_id: str, *, at_ms: int, text: str, comment_id: str, verb: str = "add"
) -> WebhookItem:
    """A comment under a post, in the shape of the account's channel: a change, not a message."""
    author = {"id": customer_id, "username": "invented_user", "name": "Invented Name"}
    if account.channel == Channel.MESSENGER:
        value: dict[str, Any] = {"item": "comment", "verb": verb, "comment_id": comment_id, "message": text}
        value |= {"from": author, "created_time": at_ms // 1000, "post_id": "104_900"}
        return WebhookItem(account, {"field": "feed", "value": value}, "changes")
    value = {"id": comment_id, "from": author, "text": text, "media": {"id": "18000000000000777"}}
    return WebhookItem(account, {"field": "comments", "value": value}, "changes")


def read_item(account: Account, customer_id: str, *, at_ms: int, mid: str) -> WebhookItem:
    """A customer has seen a message: a mid on Instagram, a watermark on Messenger."""
    seen = {"watermark": at_ms} if account.channel == Channel.MESSENGER else {"mid": mid}
    return _from_customer(account, customer_id, at_ms, read=seen)


def echo_item(
    account: Account,
    customer_id: str,
    *,
    at_ms: int,
    text: str = "",
    attachments: Iterable[Mapping[str, Any]] = (),
    mid: str | None = None,
    app_id: int | str | None = None,
    metadata: str | None = None,
) -> WebhookItem:
    """Something was sent from the account; app_id and metadata exist on Messenger only.

    Attachments come without words, a template's own words included.
    """
    message: dict[str, Any] = {"mid": mid or new_mid(account.channel), "is_echo": True}
    if parts := [dict(part) for part in attachments]:
        message["attachments"] = parts
    else:
        message["text"] = text
    if account.channel == Channel.MESSENGER:
        if app_id is not None:
            message["app_id"] = int(app_id)
        if metadata is not None:
            message["metadata"] = metadata
    item = {
        "sender": {"id": account.id},
        "recipient": {"id": customer_id},
        "timestamp": at_ms,
        "message": message,
    }
    return WebhookItem(account, item)


def human_echo_item(
    account: Account, customer_id: str, *, at_ms: int, text: str, mid: str | None = None
) -> WebhookItem:
    """A manager answers from the phone or the Page inbox."""
    return echo_item(account, customer_id, at_ms=at_ms, text=text, mid=mid, app_id=PAGE_INBOX_APP_ID)


def webhook_bodies(items: Iterable[WebhookItem], *, at_ms: int) -> list[bytes]:
    """The POST bodies that carry `items`, in order: one for each run of the same `object`."""
    bodies: list[bytes] = []
    for kind, group in itertools.groupby(items, key=lambda item: _object_of(item.account)):
        entries = [
            {"id": account_id, "time": at_ms, field: [dict(item.item) for item in same]}
            for (account_id, field), same in itertools.groupby(group, key=lambda item: (item.account.id, item.field))
        ]
        bodies.append(encode({"object": kind, "entry": entries}))
    return bodies


def batch_body(items: Iterable[WebhookItem], *, at_ms: int) -> bytes:
    """One POST body with an entry for each item, as Meta batches them."""
    batch = list(items)
    kinds = {_object_of(item.account) for item in batch}
    if len(kinds) != 1 or len(batch) > MOST_IN_A_BATCH:
        raise ValueError(f"a batch holds up to {MOST_IN_A_BATCH} items of one object")
    entries = [{"id": item.account.id, "time": at_ms, item.field: [dict(item.item)]} for item in batch]
    return encode({"object": kinds.pop(), "entry": entries})


def encode(payload: object) -> bytes:
    r"""Meta's bytes on the wire: compact, all but ASCII as lowercase \uXXXX, and a slash as \/."""
    return json.dumps(payload, ensure_ascii=True, separators=(",", ":")).replace("/", "\\/").encode("ascii")


def sign(body: bytes, app_secret: str) -> str:
    """The value of `X-Hub-Signature-256`."""
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()


def _object_of(account: Account) -> str:
    return "page" if account.channel == Channel.MESSENGER else "instagram"


def _from_customer(account: Account, customer_id: str, at_ms: int, **event: Any) -> WebhookItem:
    head = {"sender": {"id": customer_id}, "recipient": {"id": account.id}, "timestamp": at_ms}
    return WebhookItem(account, head | event)
