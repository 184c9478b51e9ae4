"""A TCP link that can stop carrying bytes without being cut: what a network does that drops every packet."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 65536


class StallingProxy:
    """Forwards connections made to `port` on to another port of this machine, until `stall`."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._carries = threading.Event()
        self._carries.set()
        self._stopped = False
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def stop(self) -> None:
        """What was held back is never delivered."""
        self._stopped = True
        self._carries.set()
        for each in [self._listening, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def stall(self) -> None:
        self._carries.clear()

    def resume(self) -> None:
        self._carries.set()

    def _accept(self) -> None:
        while not self._stopped:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return  # we are stopping
            self._sockets.append(near)
            try:
                far = socket.create_connection(("127.0.0.1", self._to_port))
            except OSError:
                near.close()  # the other side is not there (yet)
                continue
            self._sockets.append(far)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._carries.wait()
                if self._stopped:
                    return
                sink.sendall(data)
            self._carries.wait()
            sink.shutdown(socket.SHUT_WR)
