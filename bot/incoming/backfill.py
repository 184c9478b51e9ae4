"""A message as the Graph API gives it back, made into the event that its webhook would have been (meta.md 8.1)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.incoming.attachments import UNSUPPORTED, Attached, describe_attachments, describe_reply
from bot.incoming.events import Channel, Contact, CustomerMessage, Echo, MessageKind
from bot.incoming.meta_values import TEXT_LIMIT, as_flag, as_id, as_list, as_mapping, as_ms, as_text, is_invisible

SECOND_MS = 1000  # what `created_time` is exact to
_DATA = {"image_data": "image", "video_data": "video", "audio_data": "audio"}
_MIME = {"image": "image", "video": "video", "audio": "audio"}


@dataclass(frozen=True, slots=True)
class ReadBack:
    """One message; `row` is Meta's own. `created_at_ms` is the beginning of its second, 0 where Meta names none."""

    mid: str
    created_at_ms: int
    from_id: str
    to_ids: tuple[str, ...]
    row: Mapping[str, Any] = field(repr=False)  # a customer's words

    @property
    def text(self) -> str:
        return as_text(self.row.get("message"))

    @property
    def is_bare(self) -> bool:
        """An id and nothing else: the message has to be read by itself."""
        return not self.from_id

    @property
    def bare_kind(self) -> str:
        """The kind of its only attachment, where there are no words; else ""."""
        kinds = _attached(self.row)[1]
        return kinds[0] if len(kinds) == 1 and not self.text.strip() else ""

    def contact(self, channel: Channel, account_id: str, our_ids: Collection[str]) -> Contact | None:
        """The conversation it belongs to; None when neither side of it is ours."""
        if self.from_id in our_ids:
            customers = [party for party in self.to_ids if party not in our_ids]
            return Contact(channel, account_id, customers[0]) if customers else None
        is_to_us = any(party in our_ids for party in self.to_ids)
        return Contact(channel, account_id, self.from_id) if is_to_us else None

    def event(self, contact: Contact, *, now_ms: int, found: str) -> CustomerMessage | Echo:
        """`found` is the occasion on which it was read."""
        attached, kinds = _attached(self.row)
        if self.from_id != contact.customer_id:
            # The end of its second: a reply is not older than what it answers.
            at_ms = min(self.created_at_ms + SECOND_MS - 1, now_ms) if self.created_at_ms else now_ms
            return Echo(
                contact, self.mid, at_ms, self.text[:TEXT_LIMIT], notes=attached.notes, attached=kinds, found=found
            )
        text = self.text[:TEXT_LIMIT]
        reply = _reply(self.row)
        said = not is_invisible(text)
        readable = said or bool(attached.notes)
        unreadable = attached.unreadable or as_flag(self.row.get("is_unsupported")) or not readable
        return CustomerMessage(
            contact,
            MessageKind.MESSAGE,
            self.mid,
            self.created_at_ms or now_ms,
            text if said else "",
            (*reply, *attached.notes, *((UNSUPPORTED,) if unreadable else ())),
            needs_text=not readable,
            media=attached.media_after(len(reply)),
            found=found,
        )


def read_row(row: object, *, now_ms: int) -> ReadBack | None:
    """None without an id. A bare one, as Instagram Login lists them, has no `from_id`."""
    fields = as_mapping(row)
    mid = as_id(fields.get("id"))
    if mid is None:
        return None
    created = fields.get("created_time")
    return ReadBack(
        mid,
        as_ms(created, now_ms) // SECOND_MS * SECOND_MS if created is not None else 0,
        as_id(as_mapping(fields.get("from")).get("id")) or "",
        tuple(party for party in map(_party, rows_of(fields.get("to"))) if party),
        fields,
    )


def rows_of(value: object) -> list[Any]:
    """Graph puts every list into `data`."""
    return as_list(as_mapping(value).get("data"))


def _party(person: object) -> str | None:
    return as_id(as_mapping(person).get("id"))


def _reply(row: Mapping[str, Any]) -> tuple[str, ...]:
    if as_mapping(row.get("story")).get("reply_to"):
        return describe_reply({"story": {"id": "1"}})
    return describe_reply(row.get("reply_to"))


def _attached(row: Mapping[str, Any]) -> tuple[Attached, tuple[str, ...]]:
    """As a webhook words them, and their kinds."""
    like_webhooks = [_like_a_webhook(as_mapping(attachment)) for attachment in rows_of(row.get("attachments"))]
    if as_mapping(row.get("story")).get("mention"):
        like_webhooks.append({"type": "story_mention"})
    for share in rows_of(row.get("shares")):
        fields = as_mapping(share)
        payload = {"url": fields.get("link"), "title": fields.get("name")}
        like_webhooks.append({"type": "share", "payload": payload})
    return describe_attachments(like_webhooks), tuple(str(each["type"]) for each in like_webhooks)


def _like_a_webhook(attachment: Mapping[str, Any]) -> dict[str, Any]:
    for key, kind in _DATA.items():
        data = attachment.get(key)
        if isinstance(data, dict):
            return {"type": kind, "payload": {"url": data.get("url")}}
    if isinstance(template := attachment.get("generic_template"), dict):
        return {"type": "template", "payload": {"title": template.get("title")}}
    mime = as_text(attachment.get("mime_type"))
    kind = _MIME.get(mime.partition("/")[0], "file" if mime or attachment.get("file_url") else "unknown")
    url = attachment.get("file_url")
    return {"type": kind, "payload": {"url": url, "name": attachment.get("name") if kind == "file" else None}}
