"""Messages in the shapes that Meta takes: text with quick replies, a template with links, a picture, a file."""

from collections.abc import Sequence
from typing import Any

from bot.reply.quick_replies import cut_title
from bot.reply.rich_content import Link


def text_message(text: str, buttons: Sequence[str]) -> dict[str, Any]:
    """`buttons` are the titles of quick replies; a tap comes back as a message of these words."""
    message: dict[str, Any] = {"text": text}
    if buttons:
        message["quick_replies"] = [{"content_type": "text", "title": b, "payload": b} for b in buttons]
    return message


def template_message(text: str, links: Sequence[Link]) -> dict[str, Any]:
    """A button template, whose one to three buttons open pages."""
    pages = [{"type": "web_url", "url": link.url, "title": cut_title(link.title)} for link in links]
    return _attachment("template", {"template_type": "button", "text": text, "buttons": pages})


def image_message(url: str, *, on_messenger: bool) -> dict[str, Any]:
    """Instagram takes pictures as a list, and everything else as one object."""
    image = _attachment("image", {"url": url})
    return image if on_messenger else {"attachments": [image["attachment"]]}


def file_message(url: str) -> dict[str, Any]:
    return _attachment("file", {"url": url})


def _attachment(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"attachment": {"type": kind, "payload": payload}}
