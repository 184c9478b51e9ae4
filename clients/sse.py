"""Server-sent events, read from bytes as they come: only the data, since nothing else carries meaning here."""

_BOM = b"\xef\xbb\xbf"


class EventReader:
    """Cuts a byte stream into the data of its events; https://html.spec.whatwg.org/multipage/server-sent-events.html.

    Comments, other fields and events without data yield nothing, so a caller that waits for data sees a keep-alive
    as silence. Lines may end in CR, LF or CRLF, also when a chunk ends between the two.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._skip_lf = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event that `chunk` completes."""
        if self._skip_lf and chunk:
            chunk = chunk[1:] if chunk.startswith(b"\n") else chunk
            self._skip_lf = False
        buffered = self._rest + chunk if self._rest else chunk
        if not self._started:
            if len(buffered) < len(_BOM) and _BOM.startswith(buffered):
                self._rest = buffered
                return []
            self._started = True
            buffered = buffered.removeprefix(_BOM)
        lines = buffered.splitlines(keepends=True)
        self._rest = b""
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest = lines.pop()
        elif lines and lines[-1].endswith(b"\r"):
            self._skip_lf = True
        return [event for line in lines if (event := self._take(line.rstrip(b"\r\n"))) is not None]

    def finish(self) -> list[bytes]:
        """What was still open at the end: servers are known to forget the last blank line."""
        events = [self._take(self._rest), self._take(b"")] if self._rest else [self._take(b"")]
        self._rest = b""
        return [event for event in events if event is not None]

    def _take(self, line: bytes) -> bytes | None:
        if line:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line == b"data":
                self._data.append(b"")
            return None
        if not self._data:
            return None
        event = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        return event
