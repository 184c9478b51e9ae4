"""Reads a request's raw body within bounds of size, time and memory."""

from collections.abc import Mapping

from starlette.types import Message, Receive

from webhooks.guards.patience import Patience, Wait


class BodyTooLarge(Exception):
    """More bytes than allowed were announced or sent; the rest was not read."""


class BodyTooSlow(Exception):
    """The body was not complete in time."""


class BodyMemoryFull(Exception):
    """Bodies of others take up all the memory that there is for them; the rest was not read."""


class ClientGone(Exception):
    """The client closed the connection before its body was complete."""


class BodyMemory:
    """The memory that all bodies may take together until they are known to be Meta's: the whole internet may send.

    When there is none left, the unfinished body that has begun first is given up: Meta's are whole within moments, so
    ordinary POSTs come through.
    """

    def __init__(self, size_bytes: int) -> None:
        self._left = size_bytes
        self._unfinished: dict[Unfinished, None] = {}  # the one that has begun first comes first

    def begin(self, wait: Wait) -> "Unfinished":
        body = Unfinished(wait)
        self._unfinished[body] = None
        return body

    def end(self, body: "Unfinished") -> None:
        self._unfinished.pop(body, None)

    def take(self, size_bytes: int, body: "Unfinished | None" = None) -> None:
        """So many bytes more, for a whole body or `body`; raise `BodyMemoryFull` when that one is given up itself."""
        while size_bytes > self._left:
            oldest = next(iter(self._unfinished), None)
            if oldest is None or oldest is body:
                raise BodyMemoryFull
            self.end(oldest)
            self.give_back(oldest.give_up())
        self._left -= size_bytes
        if body is not None:
            body.held += size_bytes

    def give_back(self, held: int) -> None:
        self._left += held


class Unfinished:
    """One body on its way, and what it holds of the memory."""

    def __init__(self, wait: Wait) -> None:
        self._wait = wait
        self.held = 0
        self.was_given_up = False

    def give_up(self) -> int:
        """End its reader's wait; what it had held is free."""
        self.was_given_up = True
        self._wait.run_out()
        held, self.held = self.held, 0
        return held


async def read_body(
    receive: Receive, headers: Mapping[bytes, bytes], *, limit_bytes: int, patience: Patience, memory: BodyMemory
) -> tuple[bytes, int]:
    """The whole body, and what it holds of `memory` until the caller gives that back.

    Raise `BodyTooLarge`, `BodyTooSlow`, `BodyMemoryFull` or `ClientGone`; then nothing is held.
    """
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and (len(announced) > 18 or int(announced) > limit_bytes):
        raise BodyTooLarge
    unfinished = None
    try:
        with patience.for_one() as wait:
            message = await receive()
            body = _chunk(message)
            if message.get("more_body"):
                unfinished = memory.begin(wait)
                body = await _read_on(body, receive, limit_bytes, memory, unfinished)
    except TimeoutError as exc:
        if unfinished is not None and unfinished.was_given_up:
            raise BodyMemoryFull from exc
        raise BodyTooSlow from exc
    if len(body) > limit_bytes:
        memory.give_back(unfinished.held if unfinished else 0)
        raise BodyTooLarge
    if unfinished is None:
        memory.take(len(body))
    return body, len(body)


async def _read_on(begun: bytes, receive: Receive, limit_bytes: int, memory: BodyMemory, body: Unfinished) -> bytes:
    whole, more = bytearray(begun), True
    try:
        memory.take(len(whole), body)
        while more and len(whole) <= limit_bytes:
            message = await receive()
            chunk = _chunk(message)
            memory.take(len(chunk), body)
            whole += chunk
            more = message.get("more_body", False)
    except BaseException:
        memory.give_back(body.held)
        raise
    finally:
        memory.end(body)
    return bytes(whole)


def _chunk(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    chunk: bytes = message.get("body", b"")
    return chunk
