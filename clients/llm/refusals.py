"""Which refusals tell what a model at its server is like, in the words of the servers, and what is learned from each.

One table: the wording, and the repair (`bot.agent.repairs`) that `ModelQuirks` then applies to every later request. A
refusal teaches only what the refused request held: "tools are not supported" is no reason for one that had none.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from bot.agent.repairs import Repair
from clients.llm.errors import error_object, places_in, refused_fields, words_of
from clients.llm.quirks import LIMIT_NAMES, PASSING_MS, THOUGHTS, ModelQuirks
from clients.llm.requests import ModelRequest
from clients.llm.token_limits import TokenLimits, token_limits_in

# Statuses of which the request may be the cause. 402: the balance; 404 and 405: no such feature for this model;
# 500: llama.cpp and templates that raise; None: an error inside a 200.
_TELLING: Final = frozenset({None, 400, 402, 404, 405, 413, 422, 429, 500, 501})
ROUTED_NOWHERE: Final = 404  # a router's: no endpoint of the model can do it just now
_ONLY_LIMIT: Final = frozenset({402, 429})  # an answer that is too dear or too large, and nothing else

_NOT: Final = (
    r"(?:is|are)? ?(?:currently |yet )?(?:not|n't) (?:yet |currently )?(?:supported|enabled|available|allowed)"
)
_TOOLS: Final = r"(?:tools|tool use|tool[- ]calling|tool calls?|function[- ]calling|function calls?|functions)"

_REASONING_OF_MESSAGE: Final = r"messages?[.\[]\s?'?\d.{0,160}\breasoning(?:_content|_details)?\b"

# The more special wording comes before those whose words it holds, too.
_WORDINGS: Final[Mapping[Repair, re.Pattern[str]]] = {
    repair: re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)
    for repair, patterns in (
        (
            Repair.NO_THOUGHTS,  # Groq, Cerebras, Mistral
            (rf"{_REASONING_OF_MESSAGE}.{{0,60}}(?:unsupported|not supported|not permitted|unknown|extra)",),
        ),
        (
            Repair.IN_ONE_PIECE,
            (
                r"must be verified to stream|'stream' does not support",  # OpenAI
                rf"streaming(?: mode)? {_NOT}",
                r"tool use in streaming mode",  # Bedrock
            ),
        ),
        (
            Repair.NO_TOOLS,
            (
                rf"(?<!parallel )\b{_TOOLS}[`'\"]? {_NOT}",  # Groq, DeepInfra, Mistral, Gemini, Azure, SiliconFlow
                rf"(?:does not|doesn't|do not|don't|cannot) support(?: for)? {_TOOLS}\b",  # Ollama, Bedrock
                rf"no \w+ found that support {_TOOLS}\b",  # OpenRouter
                r"enable-auto-tool-choice|tool-call-parser",  # vLLM
                r"tools param (?:requires|is not)|unsupported param: tools",  # llama.cpp
            ),
        ),
        (
            Repair.SYSTEM_AS_USER,
            (
                rf"system (?:role|message|prompt|instruction)s? {_NOT}|system_?instruction {_NOT}",  # Gemma 2, PaLM
                r"role['\"]? does not support ['\"]system",  # OpenAI
                r"does(?: not|n't) support (?:the )?['\"]?system['\"]? (?:role|message|prompt)",
                rf"developer instruction {_NOT}",  # Gemma at Google
                r"only user(?:,| and) (?:and )?(?:assistant|model)(?: and tool)? roles are supported",  # templates
            ),
        ),
        (
            Repair.ALTERNATE,
            (
                r"roles? (?:must|should) alternate",  # templates of Mistral and Gemma, Anthropic
                r"(?:must|should|need to|turn requests) (?:be )?alternat",  # Perplexity, Gemini
                r"first message must use the ['\"]user['\"] role",
            ),
        ),
        (
            Repair.THINK,
            (
                r"reasoning is mandatory|(?:reasoning|thinking).{0,60}cannot be (?:disabled|turned off)",
                r"(?:thinking|reasoning) (?:is )?(?:mandatory|required)",
            ),
        ),
        (Repair.ANY_TOOL_CHOICE, (r"tool_choice",)),  # DeepSeek, OpenRouter, DeepInfra
        (
            Repair.TEMPERATURE,
            (
                r"\btemperature['\"`]?(?: does not support|.{0,40}(?:unsupported|(?:not|n't) support|deprecated))",
                r"(?:unsupported|unknown|unrecognized|invalid)[^.]{0,40}\btemperature\b",  # OpenAI, Moonshot
            ),
        ),
    )
}
_OPTIONAL_SYSTEM: Final = re.compile(r"optional\)? system", re.IGNORECASE)
_LIMIT_WANTED: Final = re.compile(
    r"fewer max_tokens|max_(?:completion_)?tokens.{0,40}(?:too large|exceeds)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class LearnedQuirk:
    """`quirks` are those of the model from here on."""

    repair: Repair
    quirks: ModelQuirks


def learned_from(
    status: int | None, body: Any, request: ModelRequest, sent: Mapping[str, Any], known: ModelQuirks, *, now_ms: int
) -> LearnedQuirk | None:
    """What this refusal of `request`, which went out as the JSON body `sent`, teaches; None: nothing to go by."""
    if status not in _TELLING:
        return None
    text = words_of(body)
    if status in _ONLY_LIMIT:
        return _learned_limit(text, request, known, now_ms)
    name = next((name for name in LIMIT_NAMES if name in sent), "")
    if _refuses_limit_name(body, text, name):
        # Another call may have learned it while this one was on its way: asked again it goes out right.
        renamed = known.after_limit_name(name)
        return LearnedQuirk(Repair.LIMIT_NAME, renamed) if renamed else None
    repair = _told(body, text, sent)
    if repair is Repair.NO_TOOLS:
        until_ms = now_ms + PASSING_MS if status == ROUTED_NOWHERE else math.inf
        return LearnedQuirk(repair, replace(known, no_tools_until_ms=until_ms))
    return LearnedQuirk(repair, _learned(known, repair)) if repair else _learned_limit(text, request, known, now_ms)


def _refuses_limit_name(body: Any, text: str, name: str) -> bool:
    """By its words: `param` names the limit also where only its value is wrong."""
    if name == "max_tokens" and re.search(r"use [`'\"]?max_completion_tokens", text, re.IGNORECASE):
        return True
    unnamed = {**error_object(body), "param": None}
    return bool(refused_fields(unnamed, frozenset({name}) - {""})) and token_limits_in(text) is None


def _told(body: Any, text: str, sent: Mapping[str, Any]) -> Repair:
    """In the order of the table: the more special wording comes before those whose words it holds, too."""
    refused = refused_fields(body, frozenset(_FIELD_OF.values()))
    for repair, pattern in _WORDINGS.items():
        said = pattern.search(text) or _FIELD_OF.get(repair) in refused
        if repair is Repair.NO_THOUGHTS:
            said = said or _points_at_thoughts(body)
        # A template that does not know the system role counts its message as a turn.
        counts_system = repair is Repair.ALTERNATE and _HOLDS[Repair.SYSTEM_AS_USER](sent)
        cure = Repair.SYSTEM_AS_USER if counts_system and not _OPTIONAL_SYSTEM.search(text) else repair
        if said and _HOLDS[cure](sent):
            return cure
    return Repair.NONE


def _learned_limit(text: str, request: ModelRequest, known: ModelQuirks, now_ms: int) -> LearnedQuirk | None:
    limits = token_limits_in(text)
    if limits is None and _LIMIT_WANTED.search(text):
        limits = TokenLimits()
    quirks = known.with_token_limits(limits, request, now_ms=now_ms) if limits is not None else None
    return LearnedQuirk(Repair.FEWER_TOKENS, quirks) if quirks else None


_FIELD_OF: Final[Mapping[Repair, str]] = {
    Repair.NO_TOOLS: "tools",
    Repair.ANY_TOOL_CHOICE: "tool_choice",
    Repair.TEMPERATURE: "temperature",
}


def _learned(known: ModelQuirks, repair: Repair) -> ModelQuirks:
    match repair:
        case Repair.NO_THOUGHTS:
            return replace(known, takes_thoughts=False)
        case Repair.IN_ONE_PIECE:
            return replace(known, streams=False)
        case Repair.SYSTEM_AS_USER:
            return replace(known, takes_system=False)
        case Repair.ALTERNATE:
            return replace(known, alternates=True)
        case Repair.THINK:
            return replace(known, must_think=True)
        case Repair.ANY_TOOL_CHOICE:
            return replace(known, takes_tool_choice=False)
        case Repair.TEMPERATURE:
            return replace(known, takes_temperature=False)
        case _:
            raise AssertionError(f"{repair} is not learned from words alone")


_HOLDS: Final[Mapping[Repair, Callable[[Mapping[str, Any]], bool]]] = {
    Repair.NO_THOUGHTS: lambda sent: any(message.keys() & set(THOUGHTS) for message in sent["messages"]),
    Repair.IN_ONE_PIECE: lambda sent: bool(sent.get("stream")),
    Repair.NO_TOOLS: lambda sent: bool(sent.get("tools")),
    Repair.SYSTEM_AS_USER: lambda sent: sent["messages"][0]["role"] == "system",
    Repair.ALTERNATE: lambda sent: not _alternates(sent),
    Repair.THINK: lambda sent: isinstance(sent.get("reasoning"), Mapping) and sent["reasoning"].get("enabled") is False,
    Repair.ANY_TOOL_CHOICE: lambda sent: "tool_choice" in sent,
    Repair.TEMPERATURE: lambda sent: "temperature" in sent,
}


def _alternates(sent: Mapping[str, Any]) -> bool:
    roles = [message["role"] for message in sent["messages"] if message["role"] != "system"]
    return roles[:1] == ["user"] and all(a != b or a == "tool" for a, b in pairwise(roles))


def _points_at_thoughts(body: Any) -> bool:
    """Mistral: {"type": "extra_forbidden", "loc": ["body", "messages", 3, "assistant", "reasoning_content"]}."""
    return any("messages" in place and set(THOUGHTS) & {str(part) for part in place} for place in places_in(body))
