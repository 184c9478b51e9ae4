"""Reads a request's raw body within bounds of size, time and memory."""

from collections.abc import Mapping

from starlette.types import Message, Receive

from webhooks.patience import Patience


class BodyTooLarge(Exception):
    """More bytes than allowed were announced or sent; the rest was not read."""


class BodyTooSlow(Exception):
    """The body was not complete in time."""


class NoRoom(Exception):
    """Bodies of others take up all the memory that there is for them; the rest was not read."""


class ClientGone(Exception):
    """The client closed the connection before its body was complete."""


class Room:
    """The memory that all unfinished bodies may take together: anybody may send, signed or not.

    The first `free_bytes` of each need no room, so that ordinary POSTs come through whatever strangers do.
    """

    def __init__(self, size_bytes: int, *, free_bytes: int = 64 * 1024) -> None:
        self._left = size_bytes
        self._free = free_bytes

    def hold(self, held: int, size_bytes: int) -> int:
        """What a body holds once it has grown to `size_bytes`, where it held `held` before; raise `NoRoom`."""
        wanted = max(size_bytes - self._free, 0)
        if wanted - held > self._left:
            raise NoRoom
        self._left -= wanted - held
        return wanted

    def give_back(self, held: int) -> None:
        self._left += held


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], *, limit_bytes: int, patience: Patience, room: Room
) -> tuple[bytes, int]:
    """The whole body, and what it holds of `room` until the caller gives that back.

    Raise `BodyTooLarge`, `BodyTooSlow`, `NoRoom` or `ClientGone`; then nothing is held.
    """
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and (len(announced) > 18 or int(announced) > limit_bytes):
        raise BodyTooLarge
    held = 0
    try:
        with patience.for_one():
            message = await receive()
            body = _chunk(message)
            if message.get("more_body"):
                body, held = await _read_on(body, receive, limit_bytes, room)
    except TimeoutError as exc:
        raise BodyTooSlow from exc
    if len(body) > limit_bytes:
        room.give_back(held)
        raise BodyTooLarge
    return body, held


async def _read_on(begun: bytes, receive: Receive, limit_bytes: int, room: Room) -> tuple[bytes, int]:
    whole, held, more = bytearray(begun), 0, True
    try:
        held = room.hold(held, len(whole))
        while more and len(whole) <= limit_bytes:
            message = await receive()
            whole += _chunk(message)
            held = room.hold(held, len(whole))
            more = message.get("more_body", False)
    except BaseException:
        room.give_back(held)
        raise
    return bytes(whole), held


def _chunk(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    chunk: bytes = message.get("body", b"")
    return chunk
