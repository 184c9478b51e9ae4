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
    """The memory, in bytes, that all unfinished bodies may take together: anybody may send, signed or not."""

    def __init__(self, size_bytes: int) -> None:
        self.left_bytes = size_bytes

    def take(self, size_bytes: int) -> None:
        if size_bytes > self.left_bytes:
            raise NoRoom
        self.left_bytes -= size_bytes

    def give_back(self, size_bytes: int) -> None:
        self.left_bytes += size_bytes


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], *, limit_bytes: int, patience: Patience, room: Room
) -> tuple[bytes, int]:
    """The whole body, and how much of `room` it holds until the caller gives that back.

    A body that is complete at once, as nearly all of Meta's are, needs no room: a full one does not keep it out.
    Raise `BodyTooLarge`, `BodyTooSlow`, `NoRoom` or `ClientGone`; then nothing is held.
    """
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and (len(announced) > 18 or int(announced) > limit_bytes):
        raise BodyTooLarge
    try:
        with patience.for_one():
            message = await receive()
            body = _chunk(message)
            if not message.get("more_body"):
                if len(body) > limit_bytes:
                    raise BodyTooLarge
                return body, 0
            return await _read_on(body, receive, limit_bytes, room)
    except TimeoutError as exc:
        raise BodyTooSlow from exc


async def _read_on(begun: bytes, receive: Receive, limit_bytes: int, room: Room) -> tuple[bytes, int]:
    whole, chunk, held, more = bytearray(), begun, 0, True
    try:
        while True:
            room.take(len(chunk))
            held += len(chunk)
            whole += chunk
            if held > limit_bytes:
                raise BodyTooLarge
            if not more:
                return bytes(whole), held
            message = await receive()
            chunk, more = _chunk(message), message.get("more_body", False)
    except BaseException:
        room.give_back(held)
        raise


def _chunk(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    chunk: bytes = message.get("body", b"")
    return chunk
