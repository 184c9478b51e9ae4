"""Reads a request's raw body within bounds of size and time."""

from collections.abc import Mapping

from starlette.types import Message, Receive

from webhooks.patience import Patience


class BodyTooLarge(Exception):
    """More bytes than allowed were announced or sent; the rest was not read."""


class BodyTooSlow(Exception):
    """The body was not complete in time."""


class ClientGone(Exception):
    """The client closed the connection before its body was complete."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], *, limit_bytes: int, patience: Patience) -> bytes:
    """The whole body; raise `BodyTooLarge`, `BodyTooSlow` or `ClientGone`."""
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and (len(announced) > 18 or int(announced) > limit_bytes):
        raise BodyTooLarge
    try:
        with patience.for_one():
            message = await receive()
            body = _chunk(message)
            if message.get("more_body"):
                whole = bytearray(body)
                while message.get("more_body") and len(whole) <= limit_bytes:
                    message = await receive()
                    whole += _chunk(message)
                body = bytes(whole)
    except TimeoutError as exc:
        raise BodyTooSlow from exc
    if len(body) > limit_bytes:
        raise BodyTooLarge
    return body


def _chunk(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    chunk: bytes = message.get("body", b"")
    return chunk
