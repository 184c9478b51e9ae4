"""What a Redis may stand behind, or be, on loopback: a door that speaks TLS, a server that answers by a table."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import hiredis
import trustme

TLS_HANDSHAKE = 0x16


class Authority:
    """A certificate authority of this test run, and the certificate of 127.0.0.1 that it vouches for."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.file = folder / "authority.pem"
        authority.cert_pem.write_to_path(self.file)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self.context)


class Door:
    """Listens on a free port, from `with` until its end; each connection is served by `serve` on a loop of its own."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop
        self._ready = threading.Event()
        self._accepting: Any = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self.first_bytes: list[int] = []
        """Of each connection that sent something, the first byte."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._accepting.cancel)
        self._thread.join(10)
        self._socket.close()

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._accept())

    async def _accept(self) -> None:
        self._loop, self._accepting = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        try:
            while True:
                connection, _ = await self._loop.sock_accept(self._socket)
                task = self._loop.create_task(self._welcome(connection))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _welcome(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            first = await self._peek(connection)
            if not first:
                connection.close()
                return
            self.first_bytes.append(first[0])
            if self._tls is not None and first[0] != TLS_HANDSHAKE:
                connection.close()
                return
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._tls)
            writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
            try:
                await self.serve(reader, writer)
            finally:
                writer.transport.abort()

    async def _peek(self, connection: socket.socket) -> bytes:
        connection.setblocking(False)
        readable = asyncio.Event()
        self._loop.add_reader(connection, readable.set)
        try:
            await readable.wait()
        finally:
            self._loop.remove_reader(connection)
        return connection.recv(1, socket.MSG_PEEK)


class DoorTo(Door):
    """Hands everything on to the server on `port`, both ways; with `tls` it speaks TLS to whoever comes."""

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self._behind = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader_behind, writer_behind = await asyncio.open_connection("127.0.0.1", self._behind)
        try:
            ways = [
                asyncio.create_task(_pump(reader, writer_behind)),
                asyncio.create_task(_pump(reader_behind, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            writer_behind.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


Answer = Callable[[list[str]], Awaitable[Any] | Any]
"""From the words of a command to what redis-py shall read; an Exception becomes an error."""


class AnswersBy(Door):
    """A server that answers each command by `answers[its first word]`, and OK to what stands not there."""

    def __init__(self, answers: Mapping[str, Answer], *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls=tls)
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parser = hiredis.Reader(encoding="utf-8", errors="surrogateescape")
        while data := await reader.read(65536):
            parser.feed(data)
            while (words := parser.gets()) is not False:
                writer.write(_packed(self._answer([str(word) for word in words])))
            await writer.drain()

    def _answer(self, words: list[str]) -> Any:
        name = words[0].upper()
        if name in self._answers:
            return self._answers[name](words)
        if name == "HELLO":
            return {"server": "redis", "version": "7.2.0", "proto": 3, "mode": "standalone", "role": "master"}
        return "PONG" if name == "PING" else "OK"


def _packed(answer: Any) -> bytes:
    match answer:
        case None:
            return b"_\r\n"
        case Exception():
            return f"-{answer}\r\n".encode()
        case int():
            return f":{answer}\r\n".encode()
        case str():
            return f"${len(answer.encode())}\r\n{answer}\r\n".encode()
        case Mapping():
            parts = [_packed(part) for pair in answer.items() for part in pair]
            return f"%{len(parts) // 2}\r\n".encode() + b"".join(parts)
        case _:
            return f"*{len(answer)}\r\n".encode() + b"".join(map(_packed, answer))


def sentinel_answers(name: str, port: int) -> dict[str, Answer]:
    """A sentinel that knows one primary, on 127.0.0.1."""
    master = {"name": name, "ip": "127.0.0.1", "port": str(port), "flags": "master", "num-other-sentinels": "0"}
    found = {
        "MASTERS": [master],
        "GET-MASTER-ADDR-BY-NAME": ["127.0.0.1", str(port)],
        "SLAVES": [],
    }
    return {"SENTINEL": lambda words: found[words[1].upper()]}
