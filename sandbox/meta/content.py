"""What Meta takes as a message's content, by channel: text, quick replies, templates, pictures and files."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bot.incoming.events import Channel

MOST_QUICK_REPLIES = 13
MOST_BUTTONS = 3
MOST_ELEMENTS = 10
MOST_IMAGES = 10
_TITLE, _TEMPLATE_TEXT, _CARD_TITLE, _PAYLOAD, _METADATA = 20, 640, 80, 1000, 999

_KEYS = {
    Channel.INSTAGRAM: {"text", "attachment", "attachments", "quick_replies", "metadata"},
    Channel.MESSENGER: {"text", "attachment", "quick_replies", "metadata"},
}
_KINDS = {
    Channel.INSTAGRAM: {"audio", "video", "file", "like_heart", "MEDIA_SHARE", "template"},
    Channel.MESSENGER: {"image", "audio", "video", "file", "template"},
}
# Instagram's formats; an address without an extension is judged by what is fetched, which here is always right.
_FORMATS = {
    "image": {"png", "jpg", "jpeg", "gif"},
    "audio": {"aac", "m4a", "wav", "mp4"},
    "video": {"mp4", "ogg", "avi", "mov", "webm"},
    "file": {"pdf"},
}
_NOT_FETCHED, _WRONG_KIND, _NOT_VALID = 2018008, 2018047, 2534015


class ContentRefused(Exception):
    """Code 100, with this subcode and these words."""

    def __init__(self, words: str, subcode: int | None = None) -> None:
        super().__init__(words, subcode)
        self.words = words
        self.subcode = subcode


@dataclass(frozen=True, slots=True)
class Content:
    """`text` as the customer reads it, `beside` what else they see, `attached` as the echo tells it."""

    text: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)
    attached: Sequence[Mapping[str, Any]] = ()


def check_content(message: Mapping[str, Any], channel: Channel) -> None:
    """Raise `ContentRefused` for what Meta would refuse."""
    if unknown := message.keys() - _KEYS[channel]:
        raise ContentRefused(f"Invalid keys in param message: {', '.join(sorted(unknown))}")
    kinds = [key for key in ("text", "attachment", "attachments") if key in message]
    if len(kinds) != 1:
        raise ContentRefused("param message must be non-empty" if not kinds else "text and attachment in one message")
    if "metadata" in message and not _is_text(message["metadata"], _METADATA):
        raise ContentRefused("Invalid metadata")
    match kinds[0]:
        case "text":
            _check_text(message["text"], channel)
        case "attachment":
            _check_attachment(message["attachment"], channel)
        case _:
            _check_images(message["attachments"])
    if "quick_replies" in message:
        template = isinstance(message.get("attachment"), dict) and message["attachment"].get("type") == "template"
        if template or (channel is Channel.INSTAGRAM and "text" not in message):
            raise ContentRefused("quick_replies beside an attachment")
        _check_quick_replies(message["quick_replies"])


def content_of(message: Mapping[str, Any], channel: Channel) -> Content:
    """What a message that passed shows, and how its echo looks: fetched files are told by addresses of Meta's own."""
    if "text" in message:
        titles = [reply["title"] for reply in message.get("quick_replies", ())]
        return Content(message["text"], {"buttons": titles} if titles else {})
    if "attachments" in message:
        images = [image["payload"]["url"] for image in message["attachments"]]
        beside: dict[str, Any] = {"image": images[0]} if len(images) == 1 else {"images": images}
        return Content("", beside, [_echoed("image") for _ in images])
    attachment = message["attachment"]
    kind, payload = attachment["type"], attachment.get("payload", {})
    if kind != "template":
        return Content("", {kind: payload.get("url", "")}, [_echoed(kind)])
    if payload["template_type"] == "generic":
        titles = [element["title"] for element in payload["elements"]]
        told = {"generic": {"elements": [{"title": title} for title in titles]}}
        return Content("", {"cards": titles}, [{"type": "template", "payload": told}])
    links = [{"title": button["title"], "url": button.get("url", "")} for button in payload["buttons"]]
    told = {"generic": {"elements": [{"title": payload["text"]}]}} if channel is Channel.INSTAGRAM else payload
    return Content(payload["text"], {"links": links}, [{"type": "template", "payload": told}])


def _check_text(text: Any, channel: Channel) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ContentRefused("param message must be non-empty")
    if limit_exceeded(channel, text):
        raise ContentRefused("Length of param message[text] is over the limit")


def limit_exceeded(channel: Channel, text: str) -> bool:
    """1000 bytes of UTF-8 on Instagram, 2000 UTF-16 units on Messenger."""
    if channel == Channel.INSTAGRAM:
        return len(text.encode("utf-8", "surrogatepass")) > 1000
    return _units(text) > 2000


def _check_quick_replies(replies: Any) -> None:
    if not isinstance(replies, list) or not 1 <= len(replies) <= MOST_QUICK_REPLIES:
        raise ContentRefused("Invalid quick_replies")
    for reply in replies:
        if (
            not isinstance(reply, dict)
            or reply.get("content_type") != "text"
            or not _is_text(reply.get("title"), _TITLE)
            or not _is_text(reply.get("payload"), _PAYLOAD)
        ):
            raise ContentRefused("Invalid quick_replies")


def _check_attachment(attachment: Any, channel: Channel) -> None:
    if not isinstance(attachment, dict) or attachment.get("type") not in _KINDS[channel]:
        raise ContentRefused("Invalid attachment", _NOT_VALID if channel is Channel.INSTAGRAM else _WRONG_KIND)
    kind, payload = attachment["type"], attachment.get("payload", {})
    if not isinstance(payload, dict):
        raise ContentRefused("Invalid payload", _NOT_VALID)
    if kind == "template":
        _check_template(payload)
    elif kind == "MEDIA_SHARE":
        if not _is_text(payload.get("id"), _PAYLOAD):
            raise ContentRefused("Invalid id", _NOT_VALID)
    elif kind != "like_heart":
        _check_media(kind, payload, channel)


def _check_images(images: Any) -> None:
    """Instagram's list; everything but pictures is one object there."""
    if not isinstance(images, list) or not 1 <= len(images) <= MOST_IMAGES:
        raise ContentRefused("Invalid attachments", _NOT_VALID)
    for image in images:
        if not isinstance(image, dict) or image.get("type") != "image" or not isinstance(image.get("payload"), dict):
            raise ContentRefused("Invalid attachments", _NOT_VALID)
        _check_media("image", image["payload"], Channel.INSTAGRAM)


def _check_media(kind: str, payload: Mapping[str, Any], channel: Channel) -> None:
    url = payload.get("url")
    if not isinstance(url, str) or not _is_address(url):
        raise ContentRefused("The attachment cannot be fetched", _NOT_FETCHED)
    name = urlsplit(url).path.rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    if channel is Channel.INSTAGRAM and extension and extension not in _FORMATS[kind]:
        raise ContentRefused("The attachment is of a kind that is not supported", _WRONG_KIND)


def _check_template(payload: Mapping[str, Any]) -> None:
    match payload.get("template_type"):
        case "button":
            if not _is_text(payload.get("text"), _TEMPLATE_TEXT):
                raise ContentRefused("Invalid text of a button template", _NOT_VALID)
            _check_buttons(payload.get("buttons"), least=1)
        case "generic":
            elements = payload.get("elements")
            if not isinstance(elements, list) or not 1 <= len(elements) <= MOST_ELEMENTS:
                raise ContentRefused("Invalid elements", _NOT_VALID)
            for element in elements:
                _check_element(element)
        case _:
            raise ContentRefused("Invalid template_type", _NOT_VALID)


def _check_element(element: Any) -> None:
    more = {"subtitle", "image_url", "default_action", "buttons"}
    if not isinstance(element, dict) or not _is_text(element.get("title"), _CARD_TITLE) or not element.keys() & more:
        raise ContentRefused("Invalid element", _NOT_VALID)
    if "subtitle" in element and not _is_text(element["subtitle"], _CARD_TITLE):
        raise ContentRefused("Invalid subtitle", _NOT_VALID)
    if "image_url" in element and not _is_address(element["image_url"]):
        raise ContentRefused("Invalid image_url", _NOT_FETCHED)
    _check_buttons(element.get("buttons", []), least=0)


def _check_buttons(buttons: Any, *, least: int) -> None:
    if not isinstance(buttons, list) or not least <= len(buttons) <= MOST_BUTTONS:
        raise ContentRefused("Invalid buttons", _NOT_VALID)
    for button in buttons:
        if not isinstance(button, dict) or not _is_text(button.get("title"), _TITLE):
            raise ContentRefused("Invalid button", _NOT_VALID)
        match button.get("type"):
            case "web_url" if _is_address(button.get("url")):
                pass
            case "postback" if _is_text(button.get("payload"), _PAYLOAD):
                pass
            case _:
                raise ContentRefused("Invalid button", _NOT_VALID)


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _units(value) <= most


def _is_address(url: Any) -> bool:
    """A well-formed address of the open net, which is all that Meta fetches or lets people open."""
    try:
        parts = urlsplit(url) if isinstance(url, str) and url.isascii() and " " not in url else None
        host = parts.hostname if parts else None
    except ValueError:
        return False
    if parts is None or parts.scheme not in {"http", "https"} or not host or "." not in host:
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return not host.endswith((".localhost", ".local", ".internal"))


def _echoed(kind: str) -> dict[str, Any]:
    return {"type": kind, "payload": {"url": f"https://cdn.example.invalid/{kind}?asset_id=1"}}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
