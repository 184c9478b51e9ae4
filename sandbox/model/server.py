"""A chat-completions server that refuses what real ones refuse, and fails in any way it is told to.

`python -m sandbox.model.server --port 8102`, then LLM_API_URL=http://127.0.0.1:8102 and any LLM_API_KEY.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.model.answers import Answer, ChatRequest, refused
from sandbox.model.faults import FAULTS, Fault
from sandbox.model.habits import HABITS
from sandbox.model.rules import Refused, refusal_of
from sandbox.model.servers import SERVERS, Server
from sandbox.model.shop_assistant import DEMO_TEXTS, ShopAssistant
from sandbox.server import SandboxServer, serve

__all__ = ["DEMO_TEXTS", "Answer", "ModelStandIn", "Script"]

PORT = 8102
# A plain text is an answer, a name in FAULTS is not: use `FAULTS["hang"]` or, over HTTP, {"fault": "hang"}.
Script = str | Answer | Fault | Callable[[ChatRequest], Response]

MODELS = (
    ("deepseek/deepseek-v4-pro", {"supported_efforts": ["high", "medium", "low"], "mandatory": False}),
    ("qwen/qwen3.8-flash", {"supported_efforts": ["high", "low"], "mandatory": False}),
    ("sandbox/always-thinking", {"supported_efforts": ["high"], "mandatory": True}),
)


@dataclass(frozen=True)
class _Line:
    item: Script
    model: str | None


class ModelStandIn:
    """Answers by the script first, then by what plays for good, then as the shop assistant of the demo.

    `requests` are the bodies of all chat requests in order, refused ones included; `keys` the bearer tokens, of
    which any is right but an empty one. `unused` tells a test what its script still holds. Safe to script from
    another thread while it serves.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self._lock = threading.Lock()
        self._script: deque[_Line] = deque()
        self._for_good: list[_Line] = []
        self._assistant = ShopAssistant()
        self._server: Server | None = None
        self.app = Starlette(
            routes=[
                Route("/chat/completions", self._chat, methods=["POST"]),
                Route("/models", self._models),
                Route("/generation", self._generation),
                Route("/key", self._key),
                Route("/_control", self._control, methods=["POST"]),
                Route("/_control", self._state, methods=["GET"]),
            ]
        )

    def script(self, items: Iterable[Script], *, model: str | None = None) -> None:
        """Each item answers one request, in order; with `model` only a request for that model."""
        with self._lock:
            self._script.extend(_Line(item, model) for item in items)

    def play_for_good(self, item: Script, *, model: str | None = None) -> None:
        """Answers every request (for `model`, if given) that no script answers; the latest one wins."""
        with self._lock:
            self._for_good.insert(0, _Line(item, model))

    def behave_as(self, server: str) -> None:
        """Refuse from here on what `server` of `SERVERS` refuses; "" takes everything."""
        self._server = SERVERS[server] if server else None

    def reset(self) -> None:
        self._server = None
        with self._lock:
            self._script.clear()
            self._for_good.clear()
            self.requests.clear()
            self.keys.clear()
            self._assistant = ShopAssistant()

    @property
    def unused(self) -> int:
        with self._lock:
            return len(self._script)

    def serve(self, port: int = 0) -> SandboxServer:
        """A server for this stand-in, not yet started; its `url` is the LLM_API_URL."""
        return SandboxServer(self.app, port)

    async def _chat(self, http: Request) -> Response:
        raw = await http.body()
        key = _bearer(http)
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            body = None
        with self._lock:
            self.requests.append(body if isinstance(body, dict) else {})
            self.keys.append(key)
            number = len(self.requests)
        if not key:
            return refused(Refused(401, "No auth credentials found", ""))
        if why := refusal_of(body):
            return refused(why)
        if self._server is not None and (refusal := self._server.refuses(body)) is not None:
            return refusal
        if _thinks_anyway(body):
            return FAULTS["400_reasoning_mandatory"].respond(ChatRequest(body, number, http))
        return self._respond(ChatRequest(body, number, http))

    def _respond(self, request: ChatRequest) -> Response:
        match self._next(request.model):
            case None:
                return self._assistant.answer(request).response(request)
            case str(text):
                return Answer(content=text).response(request)
            case Answer() as answer:
                return answer.response(request)
            case Fault(respond=respond):
                return respond(request)
            case respond:
                return respond(request)

    def _next(self, model: str) -> Script | None:
        with self._lock:
            for line in self._script:
                if line.model in (None, model):
                    self._script.remove(line)
                    return line.item
            return next((line.item for line in self._for_good if line.model in (None, model)), None)

    async def _models(self, _: Request) -> Response:
        data = [
            {
                "id": name,
                "context_length": 131_072,
                "supported_parameters": ["tools", "tool_choice", "reasoning", "max_tokens", "temperature"],
                "pricing": {"prompt": "0.0000001", "completion": "0.0000004"},
                "reasoning": reasoning,
            }
            for name, reasoning in MODELS
        ]
        return JSONResponse({"data": data})

    async def _generation(self, http: Request) -> Response:
        generation_id = http.query_params.get("id", "")
        if not _bearer(http):
            return refused(Refused(401, "No auth credentials found", ""))
        if not generation_id.startswith("gen-sandbox-"):
            return refused(Refused(404, f"Generation {generation_id} not found", ""))
        data = {"id": generation_id, "provider_name": "Sandbox", "finish_reason": "stop", "total_cost": 0.0001}
        return JSONResponse({"data": data})

    async def _key(self, http: Request) -> Response:
        if not _bearer(http):
            return refused(Refused(401, "No auth credentials found", ""))
        return JSONResponse({"data": {"limit": 10, "limit_remaining": 7.5, "usage": 2.5, "is_free_tier": False}})

    async def _control(self, http: Request) -> Response:
        """`{"reset": true, "script": [...], "for_good": item, "model": "...", "server": "..."}`; see `_item`."""
        try:
            order = orjson.loads(await http.body())
            script = [_item(raw) for raw in order.get("script", ())]
            for_good = _item(order["for_good"]) if order.get("for_good") is not None else None
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as exc:
            return JSONResponse({"error": f"{type(exc).__name__}: {exc}"}, status_code=400)
        if order.get("server", "") not in {"", *SERVERS}:
            return JSONResponse({"error": f"no server is named {order['server']!r}"}, status_code=400)
        if order.get("reset"):
            self.reset()
        if "server" in order:
            self.behave_as(order["server"])
        self.script(script, model=order.get("model"))
        if for_good is not None:
            self.play_for_good(for_good, model=order.get("model"))
        return await self._state(http)

    async def _state(self, _: Request) -> Response:
        with self._lock:
            state = {
                "requests": list(self.requests),
                "unused": len(self._script),
                "faults": sorted(FAULTS),
                "habits": sorted(HABITS),
                "servers": sorted(SERVERS),
            }
        return Response(orjson.dumps(state), media_type="application/json")


def _item(raw: Any) -> Script:
    """`"text"`, `{"fault": name}` or `{"content": ..., "tool_calls": ..., ...}` with the fields of `Answer`."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, Mapping) and "fault" in raw:
        found = FAULTS.get(raw["fault"]) or HABITS.get(raw["fault"])
        if found is None:
            raise ValueError(f"no fault is named {raw['fault']!r}")
        return found
    if isinstance(raw, Mapping) and raw.keys() <= {field.name for field in fields(Answer)}:
        return Answer(**raw)
    raise ValueError("an item is a text, a fault or the fields of an answer")


def _thinks_anyway(body: Mapping[str, Any]) -> bool:
    """The model cannot stop thinking, and is asked to."""
    mandatory = any(name == body["model"] and reasoning["mandatory"] for name, reasoning in MODELS)
    reasoning = body.get("reasoning")
    off = isinstance(reasoning, Mapping) and (reasoning.get("enabled") is False or reasoning.get("effort") == "none")
    return mandatory and off


def _bearer(http: Request) -> str:
    scheme, _, key = http.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def main() -> None:
    serve(lambda: ModelStandIn().app, name="model", port=PORT)


if __name__ == "__main__":
    main()
