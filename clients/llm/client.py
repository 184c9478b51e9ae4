"""The client of any OpenAI-compatible `/chat/completions`: one call, one completion or one sorted failure.

It streams, so that cutting a call also ends its cost, and it does not retry: the ladder decides. The one exception
is a server that refuses optional fields by name (400, 404 or 422): it is asked once more without them.

What a refusal tells of a model (`clients.llm.refusals`) is kept for the life of this client: every later request for
that model goes out as its server takes it, and the failure names the repair, so that the ladder asks again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, NoReturn

import httpx

from bot.agent.repairs import Repair
from bot.model_output import CallFault, Completion, ModelCallFailed
from clients.http import NEVER_LEFT
from clients.llm.completions import CompletionDraft, parse_json
from clients.llm.deadlines import CallTimer, Deadlines
from clients.llm.errors import retry_after_seconds, sort_failure
from clients.llm.known_models import KnownModels
from clients.llm.refused import Refusal, read_refusal
from clients.llm.requests import ModelRequest, encode
from clients.llm.sse import EventReader
from runtime.clock import now_ms

__all__ = ["Deadlines", "LLMClient", "ModelRequest"]

MAX_BODY_BYTES: Final = 2 * 1024 * 1024  # an answer in one piece
MAX_STREAM_BYTES: Final = 16 * 1024 * 1024  # a streamed token costs up to half a kilobyte
# Errors after the start that mean: the answer was longer than `max_tokens`.
TOO_LONG_WORDS: Final = ("max_tokens_exceeded", "token_limit_exceeded")


class LLMClient:
    """`base_url` ends before `/chat/completions`; `clock` gives milliseconds since the epoch, to read HTTP dates.

    Safe for any number of calls at once on one event loop. Everything that can go wrong is a `ModelCallFailed`,
    whose words are ours alone: never a payload, an address or the key.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        base_url: str,
        api_key: str,
        clock: Callable[[], int] = now_ms,
        max_stream_bytes: int = MAX_STREAM_BYTES,
        on_learned: Callable[[str, str], None] = lambda _model, _what: None,
    ) -> None:
        """`on_learned` hears what the first refusal of each kind has taught of a model, see `KnownModels`."""
        self._http = http
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._address: httpx.URL | None = None  # of `_url`, once a call has found that it is one
        # `httpx.Headers` hides the key when something prints it.
        self._headers = httpx.Headers(http.headers)
        self._headers.update(
            {
                "Authorization": f"Bearer {api_key.strip()}",
                "Content-Type": "application/json",
                "Accept": "text/event-stream, application/json",
                "Accept-Encoding": "identity",
            }
        )
        self._clock = clock
        self._max_stream_bytes = max_stream_bytes
        self._known = KnownModels(url=self._url, clock=clock, on_learned=on_learned)

    def takes_tools(self, model: str) -> bool:
        """False once its server has said that it cannot call any."""
        return self._known.takes_tools(model)

    def fit(self, request: ModelRequest) -> ModelRequest:
        """The request as it would go out: without the fields that its model has refused before."""
        return self._known.fit(request)

    async def complete(self, request: ModelRequest, deadlines: Deadlines) -> Completion:
        """Ask once. Raise `ModelCallFailed` when no completion came; a cut answer with text has `complete=False`."""
        loop = asyncio.get_running_loop()
        call = _Call(deadlines, loop=loop, max_stream_bytes=self._max_stream_bytes)
        try:
            async with asyncio.timeout_at(call.timer.next()[0]) as call.scope:
                return await self._ask(request, call)
        except TimeoutError as exc:
            if call.is_finished:
                return call.conclude()  # only the end of the stream was late
            raise call.failure(call.timer.next()[1]) from exc
        except NEVER_LEFT as exc:
            raise call.failure(CallFault.CONNECT, detail=type(exc).__name__) from exc
        except httpx.InvalidURL as exc:
            raise call.failure(CallFault.CONNECT, detail="InvalidURL") from exc
        except httpx.HTTPError as exc:
            if call.draft.has_choices:
                return call.conclude()
            raise call.failure(CallFault.CUT, detail=type(exc).__name__) from exc

    async def _ask(self, request: ModelRequest, call: "_Call") -> Completion:
        request = self.fit(request)
        for may_repeat in (True, False):
            body = self._known.of(request.model).body(request)
            refusal = await self._exchange(body, call) or call.refusal_inside()
            if refusal is None:
                break
            dropped = self._known.drop_fields(request.model, refusal.status, refusal.body, body)
            if not (dropped and may_repeat):
                self._fail(call, request, body, refusal)
            call.begin_again()
        return call.conclude()

    async def _exchange(self, body: dict[str, Any], call: "_Call") -> Refusal | None:
        self._address = self._address or httpx.URL(self._url)
        request = httpx.Request("POST", self._address, content=encode(body), headers=self._headers)
        response = await self._http.send(request, stream=True)
        try:
            call.generation_id = response.headers.get("x-generation-id", "")
            if response.is_success:
                await call.read(response)
                return None
            return await read_refusal(response)
        finally:
            await response.aclose()

    def _fail(self, call: "_Call", request: ModelRequest, sent: dict[str, Any], refusal: Refusal) -> NoReturn:
        fault, status, detail = sort_failure(refusal.status, refusal.body)
        retry_after = retry_after_seconds(refusal.retry_after, refusal.body, now_ms=self._clock())
        repair = self._known.learn(request, refusal.status, refusal.body, sent)
        if repair and fault is CallFault.OVERLOADED:
            fault = CallFault.BAD_REQUEST  # said with a 500, and yet it is the request
        raise call.failure(fault, status=status, retry_after=retry_after, detail=detail, repair=repair)


class _Call:
    """What one call has received so far, and its deadlines."""

    def __init__(self, deadlines: Deadlines, *, loop: asyncio.AbstractEventLoop, max_stream_bytes: int) -> None:
        self.draft = CompletionDraft()
        self._deadlines = deadlines
        self._began = loop.time()
        self.timer = CallTimer(deadlines, now=self._began)
        self.scope: asyncio.Timeout = asyncio.timeout(None)  # replaced by the one that is entered
        self.generation_id = ""
        self._loop = loop
        self._max_stream_bytes = max_stream_bytes
        self._done = False  # `[DONE]` came, or the answer was whole
        self._fault: str | None = None  # why no more of it can be read

    @property
    def is_finished(self) -> bool:
        return self._fault is None and (self._done or self.draft.finish_reason is not None)

    def refusal_inside(self) -> Refusal | None:
        """Some servers refuse with a 200 and an error in its body, or in its first event."""
        draft = self.draft
        return None if draft.error is None or draft.has_choices else Refusal(None, draft.error)

    def begin_again(self) -> None:
        """Nothing of the refused exchange counts but its time."""
        self.draft = CompletionDraft()
        self._done, self._fault = False, None
        self.timer = CallTimer(self._deadlines, now=self._began)
        self.scope.reschedule(self.timer.next()[0])

    async def read(self, response: httpx.Response) -> None:
        """Read a 2xx by what it is, not by what was asked for: some servers do not stream."""
        chunks = response.aiter_bytes()
        is_json = "json" in response.headers.get("content-type", "")
        if is_json:
            self._expect_whole()
        head = b""
        async for chunk in chunks:
            head = (head + chunk).lstrip(b"\xef\xbb\xbf \t\r\n")  # blank lines keep a waiting connection alive
            if head:
                break
        if head.startswith((b"{", b"[")) or (is_json and not head.startswith((b"data:", b":", b"event:"))):
            await self._read_whole(head, chunks)
        elif head.startswith(b"<"):
            self._fault = "html"
        else:
            await self._read_stream(head, chunks)

    def conclude(self) -> Completion:
        """The completion, or the `ModelCallFailed` that this answer amounts to."""
        draft = self.draft
        if draft.error is not None:
            return self._conclude_error(draft.error)
        if self.is_finished and draft.has_choices:
            return self._completion(complete=True)
        if draft.has_text:
            return self._completion(complete=False)
        if self._fault is not None or self.is_finished:
            raise self.failure(CallFault.MALFORMED, detail=self._fault or "no_choices")
        raise self.failure(CallFault.CUT, detail="no_finish")

    def failure(
        self,
        fault: CallFault,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        detail: str = "",
        repair: Repair = Repair.NONE,
    ) -> ModelCallFailed:
        seconds = self.timer.elapsed(self._loop.time())
        text, reasoning = self.draft.content, self.draft.reasoning
        told = (fault, status, retry_after, detail, seconds, self.generation_id, text, reasoning, repair)
        return ModelCallFailed(*told)

    async def _read_whole(self, head: bytes, chunks: AsyncIterator[bytes]) -> None:
        self._expect_whole()
        data = bytearray(head)
        async for chunk in chunks:
            data += chunk
            if len(data) > MAX_BODY_BYTES:
                self._fault = "too_large"
                return
        try:
            body = parse_json(bytes(data))
        except ValueError:
            self._fault = "not_json"
            return
        self.draft.add(body, whole=True)
        self._done = True

    async def _read_stream(self, head: bytes, chunks: AsyncIterator[bytes]) -> None:
        reader = EventReader()
        self._take(reader.feed(head))
        received = len(head)
        async for chunk in chunks:
            received += len(chunk)
            if received > self._max_stream_bytes:
                self._fault = "too_large"
                return
            self._take(reader.feed(chunk))
            if self._fault is not None or (self.draft.error is not None and self._done):
                return
        self._take(reader.finish(), at_end=True)

    def _take(self, events: list[bytes], *, at_end: bool = False) -> None:
        now = self._loop.time()
        for event in events:
            if event.strip() == b"[DONE]":
                self._done = True
                continue
            try:
                body = parse_json(event)
            except ValueError:
                # Half an event at the very end is a cut, anywhere else the server does not speak JSON.
                self._fault = self._fault if at_end else "not_json"
                break
            self.timer.note(self.draft.add(body), now)
            if self.draft.error is not None:
                self._done = True
                break
        if self._done or self.draft.finish_reason is not None:
            self.timer.note_finished(now)
        if events:
            self.scope.reschedule(self.timer.next()[0])

    def _expect_whole(self) -> None:
        self.timer.note_whole(self._loop.time())
        self.scope.reschedule(self.timer.next()[0])

    def _conclude_error(self, error: Mapping[str, Any]) -> Completion:
        """An error inside a 200. What was said before it is kept as a cut answer."""
        fault, status, detail = sort_failure(None, error)
        if detail in TOO_LONG_WORDS and self.draft.has_choices:
            self.draft.finish_reason = "length"
            return self._completion(complete=True)
        if self.draft.has_text:
            self.draft.finish_reason = "content_filter" if fault is CallFault.MODERATION else "error"
            return self._completion(complete=False)
        retry_after = retry_after_seconds(None, error, now_ms=0)  # a number of seconds, if anything
        raise self.failure(fault, status=status, retry_after=retry_after, detail=detail)

    def _completion(self, *, complete: bool) -> Completion:
        return self.draft.completion(
            complete=complete,
            seconds=self.timer.elapsed(self._loop.time()),
            first_byte_seconds=self.timer.first_byte_seconds,
            generation_id=self.generation_id,
        )
