"""The few answers that Meta's POST may get, put together beforehand."""

from starlette.types import Send


class Answer:
    """Status, headers and body, sent as they are."""

    def __init__(self, status: int, text: bytes, *headers: tuple[bytes, bytes]) -> None:
        self.status = str(status)
        self._start = {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode()), *headers],
        }
        self._body = {"type": "http.response.body", "body": text}

    async def send(self, send: Send) -> None:
        await send(self._start)
        await send(self._body)


CLOSE = (b"connection", b"close")  # the rest of the body is not wanted
RECEIVED = Answer(200, b"EVENT_RECEIVED")
FORBIDDEN = Answer(403, b"Forbidden")
FORBIDDEN_UNREAD = Answer(403, b"Forbidden", CLOSE)
TOO_SLOW = Answer(408, b"Request Timeout", CLOSE)
TOO_LARGE = Answer(413, b"Content Too Large", CLOSE)
UNAVAILABLE = Answer(503, b"Service Unavailable", (b"retry-after", b"5"))
MEMORY_FULL = Answer(503, b"Service Unavailable", (b"retry-after", b"5"), CLOSE)
