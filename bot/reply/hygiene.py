"""Hygiene: what the model wrote, minus what was never meant for a customer's eyes."""

import json
from dataclasses import dataclass
from typing import Any

import regex

from bot.reply.markup import strip_fences, strip_markup
from bot.reply.thinking import strip_thoughts
from bot.text.keyed_patterns import KeyedPattern

# Honest text is clean after two or three passes. What still changes after this many was built to unfold.
_MAX_PASSES = 8

_WRAPPER_KEYS = (
    "reply", "response", "answer", "text", "message", "content", "output", "final_answer", "final", "result", "data",
    "ответ", "сообщение", "текст",
)  # fmt: skip

_NEW_LINE = regex.compile(r"\r\n?|[\u0085\u2028\u2029\v\f]")
_CONTROL = regex.compile(r"[^\P{Cc}\n\t]+|\p{Cs}+")

# Kept: joiners and selectors within emoji, joiners between Arabic letters (Persian is written with them), and the
# Arabic number signs, which are format characters with ink.
_HIDDEN = regex.compile(
    r"(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})(*SKIP)(*FAIL)"
    r"|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}0-9#*])[\uFE0E\uFE0F](*SKIP)(*FAIL)"
    r"|(?<=\p{Arabic})[\u200C\u200D](?=\p{Arabic})(*SKIP)(*FAIL)"
    r"|[\u0600-\u0605\u06DD\u070F\u08E2](*SKIP)(*FAIL)"
    r"|[\p{Cf}\uFE00-\uFE0F\u180B-\u180F\U000E0000-\U000E0FFF\u034F]"
)

# Stage directions before the first word.
_LABEL = KeyedPattern(
    r"\A[\s*_\[(]{0,6}(?:final answer|(?:reply|response|answer) to (?:the )?(?:customer|user|client)|assistant"
    r"|ассистент"
    r"|финальный ответ|ответ (?:клиенту|покупателю|пользователю)|відповідь клієнту|回复|响应"
    r"|回答)[*_]{0,3}[:：\])][*_]{0,3}\s*+"
    # What presents the answer, on a line of its own or in another alphabet than the answer.
    r"|\A[\s*_]*(?:(?:sure|certainly|of course)[!,.] )?here(?:['’]s| is) (?:a|the|my|your) (?:\w{4,12} )?"
    r"(?:reply|response|answer|message)[^\n:]{0,60}:[*_]{0,3}[ \t]*\n+"
    r"|\A[\s*_]*вот (?:\w{3,12} )?(?:ответ|вариант ответа|сообщение)[^\n:]{0,40}:[*_]{0,3}[ \t]*\n+"
    r"|\A[\s*_]*(?:ответ|reply|response)[*_]{0,3}:[*_]{0,3}[ \t]*\n+"
    r"|\A[\s*_]*(?:reply|response|answer):\s{1,3}(?=\p{Cyrillic})"
    r"|\A\s*(?-i:assistant|ассистент|model)[ \t]*\n+",  # a role of the chat template, on a line of its own
    regex.IGNORECASE,
    keys=(
        "answer, reply, response, assistant, ассистент, ответ, відповідь, 回复, 响应, 回答, message, сообщение, model"
    ),
)

# Escapes of a string that was encoded once too often; a path such as C:\new has a small Latin letter behind.
_ESCAPED_LETTER = KeyedPattern(r"\\u([0-9a-fA-F]{4})")
_ESCAPED_LINE = KeyedPattern(r"(?<=[\p{Cyrillic}\p{Arabic}\p{P}\p{So}\uFE0F\d\n])(?:\\r)?\\n(?![a-z])")
_LEAST_ESCAPES = 3

_LINE_END = regex.compile(r"(?<![^\S\n])[^\S\n]++(?=\n)")
_BLANK_LINES = regex.compile(r"\n{3,}")

_decoder = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`removed` names the rules that fired, in order; `thinking` holds what stood in think tags."""

    text: str
    removed: tuple[str, ...]
    thinking: str


def clean(text: str) -> Cleaned:
    """What a customer may be shown of `text`; cleaning twice changes nothing more.

    A text that goes on unfolding (tags built out of the remains of tags) comes back empty under the rule "unstable".
    """
    removed: dict[str, None] = {}
    thoughts: list[str] = []
    for _ in range(_MAX_PASSES):
        once = _clean_once(text, removed, thoughts)
        if once == text:
            return Cleaned(text, tuple(removed), "\n".join(thoughts))
        text = once
    return Cleaned("", (*removed, "unstable"), "\n".join(thoughts))


def _clean_once(text: str, removed: dict[str, None], thoughts: list[str]) -> str:
    def note(rule: str, before: str, after: str) -> str:
        if before != after:
            removed[rule] = None
        return after

    text = note("control", text, _CONTROL.sub("", _NEW_LINE.sub("\n", text)))
    text = note("invisible", text, _HIDDEN.sub("", text))
    parted = strip_thoughts(text)
    removed.update(dict.fromkeys(parted.rules))
    if parted.thoughts:
        thoughts.append(parted.thoughts)
    text = note("fence", parted.text, strip_fences(parted.text))
    text = note("escapes", text, _unescape(text))
    text = note("json_wrapper", text, _unwrap(text))
    text = note("markup", text, strip_markup(text))
    text = note("label", text, _LABEL.sub("", text))
    return str(_BLANK_LINES.sub("\n\n", _LINE_END.sub("", text))).strip()


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    stripped = text.strip()
    if stripped.startswith('"') and stripped.endswith('"'):
        try:
            value, end = _decoder.raw_decode(stripped)
        except ValueError:
            value, end = "", 0
        if isinstance(value, str) and end == len(stripped):
            return value
    if len(_ESCAPED_LETTER.find_all(text)) >= _LEAST_ESCAPES:
        letters = _ESCAPED_LETTER.sub(lambda m: chr(int(m[1], 16)), text)
        text = letters.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str(_ESCAPED_LINE.sub("\n", text))


def _unwrap(text: str) -> str:
    stripped = text.lstrip()
    if not stripped.startswith(("{", "[{", '["')):
        return text
    try:
        value, end = _decoder.raw_decode(stripped)
    except (ValueError, RecursionError):
        return text
    rest = stripped[end:].lstrip()
    if rest and not rest.startswith(("[", "(", "VERDICT")):  # tags may follow the wrapper
        return text
    inner = _wrapped_text(value)
    return text if inner is None else f"{inner}\n{rest}"


def _wrapped_text(value: Any) -> str | None:
    """The one text in a wrapper of known keys; None when there is none, or more than one, or it is a tool call."""
    for _ in range(4):
        if isinstance(value, str):
            return value
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
            continue
        if not isinstance(value, dict) or {"arguments", "parameters", "tool", "function"} & value.keys():
            return None
        known = [key for key in _WRAPPER_KEYS if key in value and isinstance(value[key], str | dict | list)]
        if len(known) != 1:
            return None
        value = value[known[0]]
    return None
