"""What a chat-completions server says, whole or in pieces, gathered into one `Completion` whatever its shape.

The shapes are those met in the wild: content as text, parts, null or absent; the completion nested under
`provider`; `choices` null; reasoning in any of three fields; tool calls without index, id or arguments.
"""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import orjson

from bot.model_output import Completion
from clients.llm.stream_text import assembled, joined, once
from clients.llm.tool_call_drafts import ToolCallDrafts
from clients.llm.usage import read_usage

THINKING_PARTS: Final = ("thinking", "reasoning", "reasoning_content")
_THOUGHT_FIELDS: Final = ("reasoning_content", "reasoning", "thinking")
# What other houses call "length" and "content_filter"; every other reason stays as it is.
_FINISH_REASONS: Final[Mapping[str, str]] = dict.fromkeys(
    ("length", "max_tokens", "max_output_tokens", "max_length", "model_length"), "length"
) | dict.fromkeys(
    ("content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
     "image_safety", "guardrail_intervened", "sensitive", "refusal"),
    "content_filter",
)  # fmt: skip


class Progress(Enum):
    """What one body or stream event brought."""

    NOTHING = "nothing"  # no choice in it: usage, a ping
    DELTA = "delta"  # the model is at work, though nothing to read has come: reasoning, a role, blanks
    WORDS = "words"  # text or a piece of a tool call


class CompletionDraft:
    """Collects one answer. `error` is the server's error object once it has sent one; see `llm_errors`."""

    def __init__(self) -> None:
        self.error: Mapping[str, Any] | None = None
        self.finish_reason: str | None = None
        self.has_choices = False
        self._native_finish_reason: str | None = None
        self._model = self._provider = self._id = ""
        self._usage: Any = None
        self._text: list[str] = []
        self._parts: Sequence[Any] | None = None  # content as it came, when a whole message had parts
        self._refusal: list[str] = []
        self._thoughts: dict[str, list[str]] = {}  # by field; a key that came is kept, even if it stays ""
        self._details: list[dict[str, Any]] | None = None
        self._calls = ToolCallDrafts()

    @property
    def has_text(self) -> bool:
        return any(piece and not piece.isspace() for piece in self._text)

    @property
    def content(self) -> str:
        return once(assembled(self._text))

    @property
    def reasoning(self) -> str:
        thoughts = (assembled(pieces) for pieces in self._thoughts.values())
        return next(filter(None, thoughts), "") or _text_of_details(self._details)

    def add(self, body: Any, *, whole: bool = False) -> Progress:
        """Take the next stream event, or with `whole` the entire body of an answer that was not streamed."""
        if not isinstance(body, dict):
            return Progress.NOTHING
        if "choices" not in body:
            body = _unnested(body)
        self._take_labels(body)
        choices = body.get("choices")
        if error := _error_in(body):
            self.error = error
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or (not whole and choice.get("index") not in (None, 0)):
            return Progress.NOTHING
        self.has_choices = True
        if error := choice.get("error"):
            self.error = _as_error(error)
        if choice.get("finish_reason") or choice.get("native_finish_reason"):
            self._take_finish(choice)
        if self.finish_reason == "error" and self.error is None:
            self.error = {}
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not delta:
            message = choice.get("message")
            # A last event that repeats the whole message adds nothing to what its deltas said.
            delta = message if whole or not (self._text or self._calls) else None
            if isinstance(text := choice.get("text"), str) and not isinstance(message, dict):
                delta = {"content": text}  # the older completions call their text so
        return self._take_delta(delta, whole=whole) if isinstance(delta, dict) else Progress.DELTA

    def completion(
        self, *, complete: bool, seconds: float, first_byte_seconds: float | None, generation_id: str
    ) -> Completion:
        """The answer so far. Without `complete` tool calls are left out: their arguments may be half there."""
        content, reasoning = self.content, self.reasoning
        thoughts = {name: assembled(pieces) for name, pieces in self._thoughts.items()}
        raw_calls = self._calls.raw() if complete else []
        raw: dict[str, Any] = {"role": "assistant", "content": self._parts if self._parts is not None else content}
        if raw_calls:
            # Some routes refuse an empty text beside tool calls, all take null.
            raw["content"] = raw["content"] if content.strip() else None
            raw["tool_calls"] = raw_calls
        # As received, "" and [] included: DeepSeek wants back exactly what it sent.
        raw |= {name: thoughts[name] for name in ("reasoning", "reasoning_content") if name in thoughts}
        if self._details is not None:
            raw["reasoning_details"] = self._details
        written = len(content) + sum(len(call["function"]["arguments"]) for call in raw_calls)
        return Completion(
            content=content if content.strip() else "",
            reasoning=reasoning,
            tool_calls=self._calls.finished() if complete else (),
            refusal=assembled(self._refusal),
            finish_reason=self.finish_reason,
            native_finish_reason=self._native_finish_reason,
            model=self._model,
            provider=self._provider,
            generation_id=self._id or generation_id,
            usage=read_usage(self._usage, reasoning_chars=len(reasoning), written_chars=written),
            raw_message=raw,
            first_byte_seconds=first_byte_seconds,
            seconds=seconds,
            complete=complete,
        )

    def _take_labels(self, body: Mapping[str, Any]) -> None:
        if not self._id and isinstance(answer_id := body.get("id"), str):
            self._id = answer_id
        if (model := body.get("model")) and isinstance(model, str):
            self._model = model
        if (provider := body.get("provider")) and isinstance(provider, str):
            self._provider = provider
        if isinstance(usage := body.get("usage"), dict):
            self._usage = usage

    def _take_finish(self, choice: Mapping[str, Any]) -> None:
        said = _text_or_none(choice.get("finish_reason"))
        if said is not None:
            self.finish_reason = _FINISH_REASONS.get(said.casefold(), said)
        native = _text_or_none(choice.get("native_finish_reason")) or said
        self._native_finish_reason = native or self._native_finish_reason

    def _take_delta(self, delta: Mapping[str, Any], *, whole: bool) -> Progress:
        content = delta.get("content")
        words = False
        if isinstance(content, str):
            self._text.append(content)
            words = bool(content) and not content.isspace()
            if len(delta) == 1:
                return Progress.WORDS if words else Progress.DELTA
        if isinstance(content, dict):
            content = [content]
        if isinstance(content, list):
            if whole:
                self._parts = content
            words = self._take_parts(content)
        for field in _THOUGHT_FIELDS:
            if isinstance(thought := delta.get(field), str):
                self._thoughts.setdefault(field, []).append(thought)
        if isinstance(details := delta.get("reasoning_details"), list):
            self._take_details(details)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refusal.append(refusal)
            words = True
        calls = delta.get("tool_calls")
        if not calls and isinstance(call := delta.get("function_call"), dict):
            calls = [{"index": 0, "function": call}]  # as it was called before tools
        if isinstance(calls, list):
            words = self._calls.add(calls, whole=whole) or words
        return Progress.WORDS if words else Progress.DELTA

    def _take_parts(self, parts: Sequence[Any]) -> bool:
        words = False
        for part in parts:
            text = part if isinstance(part, str) else _text_of_part(part)
            if isinstance(part, Mapping) and part.get("type") in THINKING_PARTS:
                self._thoughts.setdefault("content", []).append(text)
            else:
                self._text.append(text)
                words = words or (bool(text) and not text.isspace())
        return words

    def _take_details(self, details: Sequence[Any]) -> None:
        self._details = [] if self._details is None else self._details
        for detail in details:
            if isinstance(detail, Mapping):
                _merge_detail(self._details, detail)


def parse_json(data: bytes) -> Any:
    """JSON as servers write it; raises ValueError. Python's own reader takes what orjson rightly refuses."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except RecursionError as exc:
            raise ValueError("nested too deeply") from exc


def _unnested(body: dict[str, Any]) -> dict[str, Any]:
    inner = body.get("provider")
    return inner if isinstance(inner, dict) and "choices" in inner else body


def _error_in(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if error := body.get("error"):
        return _as_error(error)
    return body if body.get("object") == "error" else None


def _as_error(error: Any) -> Mapping[str, Any]:
    return error if isinstance(error, Mapping) else {"message": str(error)}


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _text_of_part(part: Any) -> str:
    """Part text is `text`, `{"value": ...}` or, for Mistral's thoughts, a list of parts once more."""
    if not isinstance(part, Mapping):
        return ""
    for key in ("text", "thinking", "reasoning", "content", "value"):
        match part.get(key):
            case str(text):
                return text
            case list(inner):
                return "".join(_text_of_part(item) for item in inner)
            case Mapping() as inner_part:
                return _text_of_part(inner_part)
    return ""


def _merge_detail(details: list[dict[str, Any]], new: Mapping[str, Any]) -> None:
    """A piece of an entry has the type and index (or, with neither index nor another id, the place) of the last."""
    last = details[-1] if details else None
    same = (
        last is not None
        and last.get("type") == new.get("type")
        and last.get("index") == new.get("index")
        and (not new.get("id") or last.get("id") in (None, "", new["id"]))
        and not ("data" in new and "data" in last)  # encrypted entries come whole
    )
    if last is None or not same:
        details.append(dict(new))
        return
    for key, value in new.items():
        if key in ("text", "summary") and isinstance(value, str) and isinstance(last.get(key), str):
            last[key] += value
        elif value is not None:
            last[key] = value


def _text_of_details(details: Sequence[Mapping[str, Any]] | None) -> str:
    pieces = (detail.get("text") or detail.get("summary") for detail in details or ())
    return joined([piece for piece in pieces if isinstance(piece, str)])
