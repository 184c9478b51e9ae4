"""More ways of models and their servers, beside those of `faults`: odd shapes, odd dialects.

Some hold a good answer in a strange dress, some hold none; none of them may reach a customer as it is.
"""

import base64
import gzip
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from sandbox.model.answers import STREAM_HEADERS, THOUGHT, Answer, ChatRequest, pieces
from sandbox.model.fault import GOOD_TEXT, TAGS, Fault

NOTHING_SAID = {"prompt_tokens": 900, "completion_tokens": 0}


def _says(name: str, row: str, content: Any, **more: Any) -> Fault:
    return Fault(name, row, Answer(content=content, **more).response)


def _message(name: str, row: str, message: Any, *, finish_reason: str = "stop", **choice: Any) -> Fault:
    """One whole body with this `message`, whatever was asked for."""

    def respond(request: ChatRequest) -> Response:
        first = {"index": 0, "finish_reason": finish_reason, "message": message, **choice}
        body = Answer(content="").body(request) | {"choices": [first]}
        return _raw(request, orjson.dumps(body))

    return Fault(name, row, respond)


def _raw(request: ChatRequest, data: bytes, **headers: str) -> Response:
    return Response(
        data, headers={"content-type": "application/json", "x-generation-id": request.generation_id, **headers}
    )


def _stream(name: str, row: str, make: Callable[[ChatRequest], Sequence[bytes]]) -> Fault:
    """Bytes as they are, one write each."""

    def respond(request: ChatRequest) -> Response:
        async def write() -> AsyncIterator[bytes]:
            for chunk in make(request):
                yield chunk

        return StreamingResponse(write(), headers=STREAM_HEADERS | {"x-generation-id": request.generation_id})

    return Fault(name, row, respond)


def _event(request: ChatRequest, delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "finish_reason": finish} | ({} if delta is None else {"delta": delta}) | more
    body = {"id": request.generation_id, "model": request.model, "provider": "Sandbox", "choices": [choice]}
    return b"data: " + orjson.dumps(body) + b"\n\n"


_DONE = b"data: [DONE]\n\n"


def _spoken(request: ChatRequest, deltas: Sequence[str], *, times: int = 1) -> list[bytes]:
    events = [_event(request, {"content": piece}) for piece in deltas for _ in range(times)]
    return [*events, _event(request, {}, "stop"), _DONE]


def _growing(request: ChatRequest) -> list[bytes]:
    return _spoken(request, [GOOD_TEXT[:end] for end in range(6, len(GOOD_TEXT), 9)] + [GOOD_TEXT])


def _named_events(request: ChatRequest) -> list[bytes]:
    events = _spoken(request, pieces(GOOD_TEXT))
    dressed = [b"event: message\r\nid: %d\r\n" % at + event.replace(b"\n", b"\r\n") for at, event in enumerate(events)]
    return [b"\xef\xbb\xbfretry: 3000\r\n\r\n", *dressed]


def _split_letters(request: ChatRequest) -> list[bytes]:
    data = b"".join(_spoken(request, pieces(GOOD_TEXT)))
    return [data[at : at + 7] for at in range(0, len(data), 7)]


def _usage_only(request: ChatRequest) -> list[bytes]:
    body = {"id": request.generation_id, "choices": [], "usage": NOTHING_SAID}
    return [b"data: " + orjson.dumps(body) + b"\n\n", _DONE]


def _legacy_call(request: ChatRequest) -> list[bytes]:
    call = {"name": "search_knowledge", "arguments": '{"query": '}
    return [
        _event(request, {"role": "assistant", "content": None, "function_call": call}),
        _event(request, {"function_call": {"arguments": '"кружка"}'}}),
        _event(request, {}, "function_call"),
        _DONE,
    ]


def _good_body(request: ChatRequest) -> dict[str, Any]:
    return Answer(content=GOOD_TEXT).body(request)


def _gzipped(request: ChatRequest) -> Response:
    body = gzip.compress(orjson.dumps(_good_body(request)))
    return _raw(request, body, **{"content-encoding": "gzip"})


def _parrot(request: ChatRequest) -> Response:
    return Answer(content=f"{request.customer}\n{TAGS}").response(request)


def _one_megabyte(request: ChatRequest) -> Response:
    lines = (f"Кружка номер {n}: {1000 + n * 7 % 900} рублей, в наличии {n * 13 % 50} штук." for n in range(16_000))
    return _raw(request, orjson.dumps(Answer(content="\n".join(lines)).body(request)))


_HELLO = GOOD_TEXT.removesuffix(TAGS).strip()
_CALL = '{"name": "lookup", "arguments": {"query": "кружка"}}'
_QWEN_CALL = "<tool_call>\n<function=lookup>\n<parameter=query>\nкружка\n</parameter>\n</function>\n</tool_call>"
_GLM_CALL = "<tool_call>lookup\n<arg_key>query</arg_key>\n<arg_value>кружка</arg_value>\n</tool_call>"
_KIMI_CALL = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.lookup:0<|tool_call_argument_begin|>"
    '{"query": "кружка"}<|tool_call_end|><|tool_calls_section_end|>'
)
_CHATTER = f"Клиент: Сколько стоит кружка?\nАссистент: {_HELLO}\nКлиент: Спасибо!"
_ZALGO = "".join(letter + "\u0336\u0321\u0334" if letter.isalpha() else letter for letter in _HELLO)

_SHAPES = [
    _says("parts_of_blanks", "shape", [{"type": "text", "text": "  \n"}, {"type": "text", "text": "\u200b"}]),
    _message("text_as_object", "shape", {"role": "assistant", "content": {"type": "text", "text": GOOD_TEXT}}),
    _message("number_for_text", "shape", {"role": "assistant", "content": 0}),
    _message("no_message", "shape", None),
    _message("text_of_completions", "shape", None, text=GOOD_TEXT),
    _message(
        "details_only",
        "reasoning lock",
        {"role": "assistant", "content": None, "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]},
    ),
    _message("thinking_field", "reasoning lock", {"role": "assistant", "content": "", "thinking": THOUGHT}),
    _says("finish_eos", "finish reason", GOOD_TEXT, finish_reason="eos"),
    _says("finish_end_turn", "finish reason", GOOD_TEXT, finish_reason="end_turn"),
    _says("finish_max_tokens", "finish reason", "Здравствуйте! Кружка стоит 19", finish_reason="max_tokens"),
    _says("finish_max_tokens_silent", "finish reason", "", finish_reason="MAX_TOKENS"),
    _says("finish_safety", "finish reason", "", reasoning="", finish_reason="SAFETY"),
    _stream("legacy_call", "shape", _legacy_call),
    _stream("event_names", "shape", _named_events),
    _stream("split_letters", "shape", _split_letters),
    _stream("text_that_grows", "shape", _growing),
    _stream("chunks_twice", "shape", lambda request: _spoken(request, pieces(GOOD_TEXT), times=2)),
    _stream("usage_only", "no choices", _usage_only),
    _stream("role_then_nothing", "cut", lambda request: [_event(request, {"role": "assistant", "content": ""})]),
    _stream(
        "role_then_done", "true empty", lambda request: [_event(request, {"role": "assistant", "content": ""}), _DONE]
    ),
    _stream("plain_text_stream", "not JSON", lambda _: [b"data: upstream overloaded\n\n", _DONE]),
    Fault("gzip", "shape", _gzipped),
    Fault("bom", "shape", lambda request: _raw(request, b"\xef\xbb\xbf" + orjson.dumps(_good_body(request)))),
    Fault("json_lines", "not JSON", lambda request: _raw(request, b'{"message": {"content": "a"}}\n{"done": true}\n')),
]  # fmt: skip

_SILENT = [
    _says("one_tag", "tags only", "[STAGE:CONSULT]"),
    _says("ellipsis", "markup only", "…"),
    _says("end_token", "markup only", "<|im_end|>"),
    _says("label_only", "markup only", "Assistant:"),
    _says("fenced_object", "markup only", "```json\n{}\n```"),
    _says("tracking_pixel", "markup only", "![](https://pixel.invalid/p.gif?c=1)"),
    _says("image_tag", "markup only", '<img src="https://pixel.invalid/p.gif" width="1" height="1">'),
    _says("no_reply_needed", "sentinel", "(no reply needed)"),
    _says("no_reply_needed_ru", "sentinel", "Ответ не требуется."),
    _says("nothing_to_add", "sentinel", "[No further response is required.]"),
]

_DIALECTS = [
    _says("call_hermes", "tool syntax", f"<tool_call>\n{_CALL}\n</tool_call>"),
    _says("call_qwen", "tool syntax", _QWEN_CALL),
    _says("call_glm", "tool syntax", _GLM_CALL),
    _says("call_kimi", "tool syntax", _KIMI_CALL),
    _says("call_mistral", "tool syntax", f"[TOOL_CALLS][{_CALL}]"),
    _says("call_mistral_args", "tool syntax", 'lookup[ARGS]{"query": "кружка"}'),
    _says("call_llama", "tool syntax", '<|python_tag|>lookup.call(query="кружка")'),
    _says("call_gemma", "tool syntax", "```tool_code\nprint(lookup(query='кружка'))\n```"),
    _says("call_python", "tool syntax", '[lookup(query="кружка")]'),
    _says("call_react", "tool syntax", "Thought: надо посмотреть.\nAction: lookup\nAction Input: кружка"),
]

_UNFIT = [
    Fault("parrot", "parrot", _parrot),
    Fault("one_megabyte", "too long", _one_megabyte),
    _says("english_apology", "wrong language", "I apologize for the inconvenience. How can I help you today?"),
    _says("chinese_ok", "wrong language", "好的"),
    _says("arabic_yes", "wrong language", "نعم"),
    _says("ai_model", "refusal", "As an AI language model, I do not have access to the stock of your shop."),
    _says("ai_model_ru", "refusal", "Как языковая модель, я не имею доступа к наличию товаров."),
    _says("html_page", "machine text", "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>"),
    _says(
        "proxy_words", "machine text", "upstream connect error or disconnect/reset before headers. reset reason: 111"
    ),
    _says("overloaded_words", "machine text", "The model is currently overloaded. Please try again later."),
    _says("emoji_flood", "loop", "🎉🔥😍" * 150),
    _says("base64", "garbled", base64.b64encode(_HELLO.encode()).decode()),
    _says("zalgo", "garbled", _ZALGO),
    _says("template", "placeholder", "Здравствуйте, [имя клиента]! Кружка стоит {{price}} рублей."),
    _says("error_words_ru", "machine text", "Извините, произошла ошибка. Пожалуйста, попробуйте позже."),
    _says("other_name", "identity", "Здравствуйте! Меня зовут Claude, я создан компанией Anthropic."),
    _says("ready_to_serve", "monologue", "Хорошо, я понял инструкции. Готов отвечать клиентам!"),
    _says("staged_search", "tool syntax", "[Поиск в каталоге: кружка в подарок]"),
    _says("blank_name", "placeholder", "Здравствуйте, %NAME%! Чем могу помочь?"),
    _says("both_sides", "both sides", _CHATTER),
    _says("internal_note", "monologue", f"[Внутренняя заметка: клиент торгуется]\n{_HELLO}"),
]

_DRESSED = [
    _says("escaped_letters", "dress", orjson.dumps(_HELLO).decode().encode("ascii", "backslashreplace").decode()),
    _says("escaped_lines", "dress", _HELLO.replace("! ", "!\\n\\n")),
    _says("role_line", "dress", f"assistant\n\n{GOOD_TEXT}"),
    _says("presented", "dress", f"Sure! Here's a response you could send to the customer:\n\n{GOOD_TEXT}"),
    _says("presented_ru", "dress", f"**Ответ:**\n{GOOD_TEXT}"),
    _says("answer_element", "dress", f"<response>{_HELLO}</response>\n{TAGS}"),
    _says("message_object", "dress", orjson.dumps({"role": "assistant", "content": GOOD_TEXT}).decode()),
    _says("next_turn", "dress", f"{GOOD_TEXT}\n\nHuman: Спасибо!\n\nAssistant: Пожалуйста!"),
    _says("pixel_beside_words", "dress", f"{_HELLO}\n![](https://pixel.invalid/p.gif?c=1)\n{TAGS}"),
]

HABITS: Mapping[str, Fault] = {
    fault.name: fault for group in (_SHAPES, _SILENT, _DIALECTS, _UNFIT, _DRESSED) for fault in group
}
