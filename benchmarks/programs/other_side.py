"""`python -m benchmarks.programs.other_side PORT [CERTIFICATE KEY]`: a model and a Graph API that cost next to nothing.

A bare protocol instead of a framework, so that the other side's CPU is not what is measured. The model's way of
answering is in the path: /plain, /tools (three steps with a tool, then the words) or /wait/SECONDS, each followed by
/chat/completions. Anything else that is POSTed is taken for a send to a customer, and its moment is kept: all processes
of a machine share one monotonic clock. GET /arrivals gives `{customer: seconds}`.
"""

import asyncio
import re
import ssl
import sys
import time
from typing import Any, cast

import orjson
import uvloop

WORDS = "Здравствуйте! Спасибо, что написали нам. Расскажите, пожалуйста, что вам больше подходит: утро или вечер?"
TAGS = "[VERDICT:CHAT:WARM] [TASK:NONE] [STAGE:CONSULT]"
TOOL = "find_free_time"
TOOL_STEPS = 3
USAGE = {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960}
_HEAD = re.compile(rb"^(\w+) (\S+) HTTP/1\.1\r\n")


class _Peer(asyncio.Protocol):
    def __init__(self, arrivals: dict[str, float]) -> None:
        self._arrivals = arrivals
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data
        end = buffer.find(b"\r\n\r\n")
        length = _content_length(buffer[:end]) if end >= 0 else 0
        if end < 0 or len(buffer) < end + 4 + length:
            self._buffer = buffer
            return
        self._buffer = b""
        found = _HEAD.match(buffer)
        path = found[2].decode() if found else "/"
        body = buffer[end + 4 :]
        if path.endswith("/chat/completions"):
            seconds = float(path.split("/")[2]) if path.startswith("/wait/") else 0.0
            answer = _model(body, tools=path.startswith("/tools/"))
            if seconds:
                asyncio.get_running_loop().call_later(seconds, self._write, answer)
            else:
                self._write(answer)
        elif path == "/arrivals":
            self._write(_json(self._arrivals))
        else:
            self._write(self._graph(body))

    def _graph(self, body: bytes) -> bytes:
        order: dict[str, Any] = orjson.loads(body) if body else {}
        to = order.get("recipient", {}).get("id", "")
        if "message" in order:
            self._arrivals.setdefault(to, time.monotonic())
        return _json({"recipient_id": to, "message_id": f"m_{to}_{len(self._arrivals)}"})

    def _write(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


def _content_length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    return int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


def _model(body: bytes, *, tools: bool) -> bytes:
    steps = body.count(b'"role":"tool"') + body.count(b'"role": "tool"')
    streamed = b'"stream":true' in body or b'"stream": true' in body
    if tools and steps < TOOL_STEPS:
        call = {
            "id": f"call_{steps}",
            "index": 0,
            "type": "function",
            "function": {"name": TOOL, "arguments": f'{{"day": "2026-03-0{steps + 1}", "people": 2}}'},
        }
        return _answer({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls", streamed=streamed)
    # The peers know nothing of tags, and pass them on like any other text.
    return _answer({"role": "assistant", "content": f"{WORDS}\n{TAGS}"}, "stop", streamed=streamed)


def _answer(message: dict[str, Any], finish: str, *, streamed: bool) -> bytes:
    labels = {"id": "gen-1", "model": "m", "provider": "Bench", "created": 1_767_225_600}
    if not streamed:
        choice = {"index": 0, "finish_reason": finish, "message": message}
        return _json({**labels, "object": "chat.completion", "choices": [choice], "usage": USAGE})
    deltas = [{"role": "assistant", "content": ""}]
    if text := message["content"]:
        deltas += [{"content": text[i : i + 20]} for i in range(0, len(text), 20)]
    else:
        deltas.append({"tool_calls": message["tool_calls"]})
    events = [_event(labels, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    events.append(_event(labels, [{"index": 0, "delta": {}, "finish_reason": finish}]))
    events.append(_event(labels | {"usage": USAGE}, []))
    whole = b"".join(events) + b"data: [DONE]\n\n"
    return _response(whole, b"text/event-stream")


def _event(labels: dict[str, Any], choices: list[Any]) -> bytes:
    return b"data: " + orjson.dumps({**labels, "object": "chat.completion.chunk", "choices": choices}) + b"\n\n"


def _json(value: Any) -> bytes:
    return _response(orjson.dumps(value), b"application/json")


def _response(body: bytes, kind: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(body), body)


async def serve(port: int, tls: ssl.SSLContext | None) -> None:
    arrivals: dict[str, float] = {}
    server = await asyncio.get_running_loop().create_server(
        lambda: _Peer(arrivals), "127.0.0.1", port, backlog=4096, ssl=tls
    )
    async with server:
        await server.serve_forever()


def main() -> None:
    tls = None
    if len(sys.argv) > 2:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[2], sys.argv[3])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(int(sys.argv[1]), tls))


if __name__ == "__main__":
    main()
