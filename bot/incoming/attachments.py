"""What came beside the words, as notes for the model: attachments, ads, links, quotes, buttons."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from bot.incoming.events import Media, MediaKind
from bot.incoming.meta_values import as_caption, as_id, as_list, as_mapping, as_text

UNSUPPORTED = "[unsupported message]"
_NOTES_LIMIT = 10
_MEDIA_LIMIT = 5
_URL_LIMIT = 2000
_DEGREES = 360
_MEDIA = {"audio": MediaKind.AUDIO, "image": MediaKind.IMAGE}

_PLAIN = {
    "image": "photo",
    "video": "video",
    "audio": "voice message",
    "sticker": "sticker",
    "like_heart": "heart",
    "media": "photo or video",
    "story_mention": "mentioned us in a story",
}
_TITLED = {
    "share": "shared post",
    "post": "shared post",
    "ig_post": "shared post",
    "reel": "reel",
    "ig_reel": "reel",
    "story": "shared story",
    "ig_story": "shared story",
}
# View-once media come as a bare type: neither a model nor a tool can read them.
_UNREADABLE = frozenset({"ephemeral", "unsupported", "unsupported_type"})
# Meta sends one thing under two types while it moves to a new one; these are the older, vaguer of each pair.
_VAGUE = frozenset({"share", "image", "fallback", "media"})


@dataclass(frozen=True, slots=True)
class Attached:
    """`notes` for what a model can make something of; `unreadable` what is there and cannot be read.

    `media` are those of the notes whose things could be put into words, if a transcriber or captioner is at hand.
    """

    notes: tuple[str, ...] = ()
    unreadable: bool = False
    media: tuple[Media, ...] = ()

    def media_after(self, notes: int) -> tuple[Media, ...]:
        """The media of a message in which so many other notes stand before these."""
        return tuple(replace(media, note=media.note + notes) for media in self.media)


def describe_attachments(attachments: object) -> Attached:
    """One note for each attachment; the same URL under two types is one attachment. `type` is an open set."""
    notes: list[str] = []
    by_url: dict[str, int] = {}
    kinds: dict[str, str] = {}
    unreadable = False
    for raw in as_list(attachments):
        attachment = as_mapping(raw)
        kind = as_text(attachment.get("type"))
        if kind in _UNREADABLE:
            unreadable = True
            continue
        payload = as_mapping(attachment.get("payload"))
        if kind == "image" and payload.get("sticker_id"):  # a thumbs-up is no photo that could be looked at
            kind = "sticker"
        url = as_text(payload.get("url") or attachment.get("url"))
        note = f"[{_describe(kind, attachment, payload, url)}]"
        if url and url in by_url:
            if kind not in _VAGUE:
                notes[by_url[url]] = note
                kinds[url] = kind
            continue
        if url:
            by_url[url] = len(notes)
            kinds[url] = kind
        notes.append(note)
    if len(notes) > _NOTES_LIMIT:
        notes[_NOTES_LIMIT:] = [f"[{len(notes) - _NOTES_LIMIT} more attachments]"]
    media = [
        Media(_MEDIA[kinds[url]], url, place)
        for url, place in by_url.items()
        if kinds[url] in _MEDIA and place < _NOTES_LIMIT and len(url) <= _URL_LIMIT
    ]
    return Attached(tuple(notes), unreadable, tuple(media[:_MEDIA_LIMIT]))


def _describe(kind: str, attachment: Mapping[str, Any], payload: Mapping[str, Any], url: str) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind]
    title = as_caption(payload.get("title") or attachment.get("title"))
    if kind in _TITLED:
        return _named(_TITLED[kind], title)
    match kind:
        case "file":
            name = as_caption(payload.get("name") or attachment.get("name")) or title or _file_name(url)
            return f"file: {name}" if name else "file"
        case "fallback":
            return _named("link", title) if title or not url else f"link: {as_caption(url)}"
        case "location":
            return _location(as_mapping(payload.get("coordinates")), title)
        case "template":
            return _template(payload, title)
        case "appointment_booking":
            return _appointment(payload)
        case _:
            return f"attachment: {as_caption(kind) or 'unknown'}"


def _named(what: str, title: str) -> str:
    return f'{what}: "{title}"' if title else what


def _file_name(url: str) -> str:
    """Messenger writes a file's name as the last part of its URL."""
    try:
        name = unquote(urlsplit(url).path.rpartition("/")[2])
    except ValueError:
        return ""
    return as_caption(name) if "." in name else ""


def _location(coordinates: Mapping[str, Any], title: str) -> str:
    latitude, longitude = coordinates.get("lat"), coordinates.get("long")
    if not all(isinstance(x, int | float) and abs(x) <= _DEGREES for x in (latitude, longitude)):
        return _named("location", title)
    return f"location: {latitude}, {longitude}"


def _template(payload: Mapping[str, Any], title: str) -> str:
    for key, what in (("product", "product"), ("generic", "card")):
        elements = as_list(as_mapping(payload.get(key)).get("elements"))
        if elements:
            titles = [as_caption(as_mapping(element).get("title")) for element in elements]
            return _named(what, as_caption(", ".join(filter(None, titles))))
    return _named("template", title)


def _appointment(payload: Mapping[str, Any]) -> str:
    status = as_caption(payload.get("status")) or "unknown"
    start = payload.get("start_time")
    if not isinstance(start, int) or isinstance(start, bool) or not 0 < start < 10_000_000_000:
        return f"appointment: {status}"
    return f"appointment: {status}, {datetime.fromtimestamp(start, UTC):%Y-%m-%d %H:%M} UTC"


def describe_referral(referral: object) -> tuple[str, ...]:
    """Where the customer came from: an ad, a link of ours, a product page."""
    fields = as_mapping(referral)
    if not fields:
        return ()
    notes: list[str] = []
    ad = as_mapping(fields.get("ads_context_data"))
    if ad or fields.get("ad_id") or fields.get("source") == "ADS":
        notes.append(f"[{_named('came from an ad', as_caption(ad.get('ad_title')))}]")
    if ref := as_caption(fields.get("ref")):
        notes.append(f"[referral: {ref}]")
    if product := as_id(as_mapping(fields.get("product")).get("id")):
        notes.append(f"[product: {as_caption(product)}]")
    return tuple(notes)


def describe_reply(reply_to: object) -> tuple[str, ...]:
    """What the customer answers to. A mid means nothing to a model, so only that there is one is said."""
    fields = as_mapping(reply_to)
    if fields.get("story"):
        return ("[reply to our story]",)
    return ("[quotes an earlier message]",) if fields.get("mid") else ()


def describe_button(payload: object) -> tuple[str, ...]:
    text = as_caption(payload)
    return (f"[button: {text}]",) if text else ()
