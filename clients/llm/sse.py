"""Server-sent events, read from bytes as they come: only the data, since nothing else carries meaning here.

An event costs 1.3 us of CPU, with httpx-sse's decoders 2.8 us (benchmarks/by_hand.py). A reply may be a thousand of
them, and httpx-sse refuses an answer whose content type is not the right one, which servers do send.
"""

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
        return self._events_in(self._cut(buffered) if b"\r" in buffered else self._cut_at_lf(buffered))

    def finish(self) -> list[bytes]:
        """What was still open at the end: servers are known to forget the last blank line."""
        lines = [self._rest, b""] if self._rest else [b""]
        self._rest = b""
        return self._events_in(lines)

    def _cut_at_lf(self, buffered: bytes) -> list[bytes]:
        lines = buffered.split(b"\n")
        self._rest = lines.pop()
        return lines

    def _cut(self, buffered: bytes) -> list[bytes]:
        lines = buffered.splitlines(keepends=True)
        self._rest = b""
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest = lines.pop()
        elif lines and lines[-1].endswith(b"\r"):
            self._skip_lf = True
        return [line.rstrip(b"\r\n") for line in lines]

    def _events_in(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line == b"data":
                self._data.append(b"")
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
        return events
