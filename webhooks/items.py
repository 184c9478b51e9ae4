"""One item of a webhook (what stands in `messaging`, `standby` or a `changes` value) as one event of ours."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bot.incoming.attachments import (
    UNSUPPORTED,
    describe_attachments,
    describe_button,
    describe_referral,
    describe_reply,
)
from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    MessageKind,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
)
from bot.incoming.meta_values import (
    TEXT_LIMIT,
    as_caption,
    as_flag,
    as_id,
    as_list,
    as_mapping,
    as_ms,
    as_text,
    is_invisible,
)
from bot.outcome import SilenceReason

# Meta's order: an item may hold more than one of them (a lead ad's end is a referral with a lead).
_COUNTED_KEYS = (
    "referral",
    "read",
    "delivery",
    "optin",
    "pass_thread_control",
    "take_thread_control",
    "request_thread_control",
    "app_roles",
    "policy_enforcement",
    "policy-enforcement",  # as older pages of Meta's print it
    "account_linking",
    "order",
    "response_feedback",
    "template",
    "form",
    "lead",
)
# The keys of Meta's routing that move a conversation, and our word for each.
_CONTROL = {"pass_thread_control": "pass", "take_thread_control": "take"}
# The "Test" button of Meta's dashboard sends these ids; they exist nowhere.
_TEST_ENTRY = "0"
_TEST_SENDER = "12334"
_TEST_RECIPIENT = "23245"


@dataclass(slots=True)  # not frozen, as _Item: a frozen one takes its time to set each field, and this is the hot path
class Entry:
    """What all items of one entry share. `standby`: another app owns the thread, we only listen.

    `our_ids`: our accounts on this channel, as `Accounts.on` gives them.
    """

    channel: Channel
    id: str | None
    time: object
    our_ids: Mapping[str | None, str]
    received_ms: int
    standby: bool = False


@dataclass(slots=True)
class _Item:
    """An item whose account is known to be ours."""

    fields: Mapping[str, Any]
    entry: Entry
    account_id: str
    customer_id: str | None
    from_us: bool
    closed_as: SilenceReason | None

    @property
    def at_ms(self) -> int:
        timestamp = self.fields.get("timestamp")
        return as_ms(self.entry.time if timestamp is None else timestamp, self.entry.received_ms)

    def contact(self, customer_id: str) -> Contact:
        return Contact(self.entry.channel, self.account_id, customer_id)


def event_of(fields: Mapping[str, Any], entry: Entry) -> Event:
    """Own messages are told apart first, then the account is looked up, then the item's event key decides."""
    message = as_mapping(fields.get("message"))
    sender, recipient = _party(fields.get("sender")), _party(fields.get("recipient"))
    sender_account = entry.our_ids.get(sender)
    recipient_account = entry.our_ids.get(recipient)
    to_self = as_flag(message.get("is_self")) or (sender is not None and sender == recipient)
    to_self = to_self or (sender_account is not None and sender_account == recipient_account)
    # Not every echo has carried its flag; taking our own words for a customer's makes the bot talk to itself.
    from_us = as_flag(message.get("is_echo")) or (
        not to_self and sender_account is not None and recipient_account is None
    )
    account_id = (sender_account if from_us else recipient_account) or recipient_account or entry.our_ids.get(entry.id)
    is_test = entry.id == _TEST_ENTRY or sender == _TEST_SENDER or recipient == _TEST_RECIPIENT
    if account_id is None:
        unknown = entry.id or (sender if from_us else recipient) or ""
        return Noted("test_event" if is_test else "unknown_account", unknown)
    closed_as = None
    if is_test:
        closed_as = SilenceReason.TEST_EVENT
    elif to_self:
        closed_as = SilenceReason.SELF
    elif entry.standby:
        closed_as = SilenceReason.STANDBY
    # An echo may carry its parties the way an incoming message does; the party that is not us is the customer.
    swapped = from_us and (recipient_account is None or sender_account is not None)
    return _route(_Item(fields, entry, account_id, recipient if swapped else sender, from_us, closed_as), message)


def _party(value: object) -> str | None:
    """The id of a sender or recipient; a customer known only by a plug-in's reference keeps that as the id."""
    if not isinstance(value, dict):
        return as_id(value)
    if found := as_id(value.get("id")):
        return found
    reference = as_id(value.get("user_ref"))
    return f"user_ref:{reference}" if reference else None


def _route(item: _Item, message: Mapping[str, Any]) -> Event:
    fields = item.fields
    if isinstance(fields.get("message"), dict):
        return _message(item, message)
    if isinstance(postback := fields.get("postback"), dict):
        return _postback(item, postback)
    if isinstance(edit := fields.get("message_edit"), dict):
        return _edit(item, edit)
    if fields.get("message") is not None or postback is not None:
        return Noted("unparsable", item.account_id)
    if item.entry.standby:
        return Noted("standby", item.account_id)
    for key in ("reaction", "message_edit", *_COUNTED_KEYS):
        if fields.get(key) is not None:
            return _happened(item, key, as_mapping(fields[key]))
    return Noted("unknown", item.account_id)


def _happened(item: _Item, key: str, what: Mapping[str, Any]) -> Event:
    """No message: counted, and where it concerns the window, the thread or the account, that is told."""
    if key in ("policy_enforcement", "policy-enforcement"):
        action, reason = as_text(what.get("action")).strip().lower(), as_caption(what.get("reason"))
        return PolicyEnforcement(item.entry.channel, item.account_id, action, item.at_ms, reason)
    if item.from_us or item.customer_id is None or item.closed_as is not None:
        return Noted(key, item.account_id)
    contact = item.contact(item.customer_id)
    if key in _CONTROL:
        return ThreadControl(contact, _CONTROL[key], item.at_ms, as_id(what.get("new_owner_app_id")))
    # Taking a reaction back is not among the actions that Meta lists as opening the window; the end of a lead ad's
    # form is no link either.
    opens_window = what.get("action") != "unreact" if key == "reaction" else "lead" not in item.fields
    if key in ("reaction", "referral") and opens_window:
        return CustomerAction(contact, key, item.at_ms)
    return Noted(key, item.account_id)


def _message(item: _Item, message: Mapping[str, Any]) -> Event:
    if item.customer_id is None:
        return Noted("no_customer", item.account_id)
    contact = item.contact(item.customer_id)
    mid = as_id(message.get("mid"))
    deleted = as_flag(message.get("is_deleted"))
    if item.from_us and item.closed_as is SilenceReason.TEST_EVENT:
        return Noted("test_event", item.account_id)
    if item.from_us:
        return Noted("echo_deleted", item.account_id) if deleted else _echo(item, contact, message)
    if deleted:
        return Deletion(contact, mid, item.at_ms) if mid else Noted("unparsable", item.account_id)
    if _is_lead_summary(item.fields.get("hop_context")):
        return Noted("lead_summary", item.account_id)
    text, notes = _words(message.get("text"))
    context = describe_referral(message.get("referral"))
    attached = describe_attachments(message.get("attachments"))
    quick_reply = as_mapping(message.get("quick_reply"))
    if quick_reply:
        text = text or _words(quick_reply.get("title"))[0]
        notes += describe_button(quick_reply.get("payload"))
    said = not is_invisible(text)
    readable = bool(said or context or attached.notes or notes)
    unreadable = attached.unreadable or as_flag(message.get("is_unsupported")) or not readable
    reply = describe_reply(message.get("reply_to"))
    return CustomerMessage(
        contact,
        MessageKind.MESSAGE,
        mid or _stand_in_mid("message", item.fields),
        item.at_ms,
        text if said else "",
        (
            *context,
            *reply,
            *attached.notes,
            *((UNSUPPORTED,) if unreadable else ()),
            *notes,
        ),
        needs_text=not readable,
        closed_as=item.closed_as,
        media=attached.media_after(len(context) + len(reply)),
    )


def _echo(item: _Item, contact: Contact, message: Mapping[str, Any]) -> Echo:
    notes = describe_attachments(message.get("attachments")).notes
    if not notes and as_flag(message.get("is_unsupported")):  # something was sent that Meta does not show us
        notes = (UNSUPPORTED,)
    return Echo(
        contact,
        as_id(message.get("mid")) or _stand_in_mid("echo", item.fields),
        item.at_ms,
        _words(message.get("text"))[0],
        as_id(message.get("app_id")),
        as_text(message.get("metadata")) or None,
        notes,
        tuple(as_text(as_mapping(attachment).get("type")) for attachment in as_list(message.get("attachments"))),
    )


def _postback(item: _Item, postback: Mapping[str, Any]) -> Event:
    if item.from_us or item.customer_id is None:
        return Noted("own_postback" if item.from_us else "no_customer", item.account_id)
    text, cut = _words(postback.get("title"))
    notes = (*describe_referral(postback.get("referral")), *describe_button(postback.get("payload")), *cut)
    if is_invisible(text) and not notes:
        notes = ("[button]",)
    mid = as_id(postback.get("mid")) or _stand_in_mid("pb", item.fields)
    contact = item.contact(item.customer_id)
    return CustomerMessage(contact, MessageKind.POSTBACK, mid, item.at_ms, text, notes, closed_as=item.closed_as)


def _edit(item: _Item, edit: Mapping[str, Any]) -> Event:
    """Those numbered 0, and such without words, come around a new message, or in its place: it has to be read."""
    mid, text = as_id(edit.get("mid")), _words(edit.get("text"))[0]
    number = as_text(edit.get("num_edit", 1)).strip()
    count = int(number) if number.isdecimal() and len(number) < 10 else 1
    if item.from_us:
        return Noted("own_edit", item.account_id)
    if item.customer_id is not None and mid is not None and text and count:
        return Edit(item.contact(item.customer_id), mid, item.at_ms, text, count)
    unread = None
    if mid is not None and not (text and count) and item.closed_as is None:
        unread = UnreadMessage(item.entry.channel, item.account_id, mid, item.at_ms, item.customer_id or "")
    return Noted("ghost_edit", item.account_id, unread=unread)


def _is_lead_summary(hop_context: object) -> bool:
    """Meta writes a lead form's answers into the thread as if the customer had; it is never shown there."""
    if hop_context is None:
        return False
    hops = hop_context if isinstance(hop_context, list) else [hop_context]
    return any(as_text(as_mapping(hop).get("metadata")).startswith("messenger_lead_gen") for hop in hops)


def _words(value: object) -> tuple[str, tuple[str, ...]]:
    """Text up to the limit, and the note that says so when it was longer."""
    text = as_text(value)
    if len(text) <= TEXT_LIMIT:
        return text, ()
    return text[:TEXT_LIMIT], (f"[message cut: {TEXT_LIMIT} of {len(text)} characters shown]",)


def _stand_in_mid(prefix: str, fields: Mapping[str, Any]) -> str:
    """An id for what came without one: equal for the same item sent again, so that duplicates are still found."""
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return f"{prefix}:{sha256(canonical.encode()).hexdigest()[:32]}"
