"""How many tokens an answer may have, read from the words with which a server refuses more.

Each pattern is the wording of a server, named beside it; numbers stand where it puts them.
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """What a refusal tells in tokens; 0: it does not say.

    `window` holds prompt and answer together, `prompt` is what the server counted, `most` the longest answer it gives,
    `affordable` the longest that the balance pays for (None: not said), `excess` by how much the request is too large.
    """

    window: int = 0
    prompt: int = 0
    most: int = 0
    affordable: int | None = None
    excess: int = 0


_N: Final = r"(\d[\d,_]*)"
_AFFORDABLE: Final = re.compile(rf"can only afford {_N}", re.IGNORECASE)  # OpenRouter, 402
_WINDOW: Final = re.compile(
    rf"maximum context length (?:is|of) {_N}"  # vLLM, OpenAI, DeepSeek, SGLang, OpenRouter
    rf"|(?:context length|context window) (?:is|of) (?:only )?{_N}",
    re.IGNORECASE,
)
# (6400 in the messages, 60 in the functions, and 8000 in the completion), (3860 in your prompt; 256 for the
# completion), (81684 of text input, 3748 of tool input, 120000 in the output)
_PARTS: Final = re.compile(r"\(([^()]*\b(?:completion|output)\b[^()]*)\)", re.IGNORECASE)
_PART: Final = re.compile(rf"{_N} (?:tokens )?(?:in|of|for|from) (?:the |your )?([a-z ]+)", re.IGNORECASE)
_PROMPTS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_N} tokens from the input messages",  # SGLang
        rf"your request has {_N} input tokens",  # vLLM
        rf"you passed {_N} input tokens",  # vLLM
        rf"Given: {_N} `?inputs`? tokens and",  # TGI, Together
        rf"exceed context limit: {_N} \+",  # Anthropic
    )
)
_WINDOW_BESIDE_PROMPT: Final = (
    re.compile(rf"`?inputs`? tokens \+ `?max_new_tokens`? must be <= {_N}", re.IGNORECASE),
    re.compile(rf"exceed context limit: [\d,_]+ \+ [\d,_]+ > {_N}", re.IGNORECASE),
)
_LIMIT: Final = r"[`'\"]?max_(?:completion_|output_|new_)?tokens[`'\"]?"
_MOST: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LIMIT}(?: for [`'\"]?[\w./:-]+[`'\"]?)? must be less than or equal to [`'\"]?{_N}",  # Groq, Cohere
        rf"supports at most {_N} completion tokens",  # OpenAI, Azure
        rf"range of {_LIMIT} (?:is|should be) \[\d+, ?{_N}\]",  # DeepSeek, Alibaba
        rf"{_LIMIT}: [\d,_]+ > {_N}, which is the maximum",  # Anthropic
        rf"{_LIMIT} (?:cannot|can not|must not) (?:exceed|be (?:greater|larger|more) than) {_N}",
    )
)
# Without it the prompt alone was too long.
_ANSWER: Final = re.compile(r"output tokens|completion|max_tokens", re.IGNORECASE)
_RATE: Final = re.compile(rf"request too large .{{0,300}}?limit {_N}, requested {_N}", re.IGNORECASE | re.DOTALL)


def token_limits_in(text: str) -> TokenLimits | None:
    """What `text` says about the length of an answer; None when it says nothing of the kind."""
    if found := _AFFORDABLE.search(text):
        return TokenLimits(affordable=_number(found[1]))
    if (most := _first(_MOST, text)) is not None:
        return TokenLimits(most=most)
    window = _first(_WINDOW_BESIDE_PROMPT, text)
    if window is None and (found := _WINDOW.search(text)):
        window = _number(found[1] or found[2])
    if window:
        prompt = _prompt_in(text)
        return TokenLimits(window=window, prompt=prompt) if prompt or _ANSWER.search(text) else None
    if found := _RATE.search(text):  # Groq and OpenAI count `max_tokens` against what one minute may hold
        return TokenLimits(excess=max(_number(found[2]) - _number(found[1]), 0))
    return None


def _prompt_in(text: str) -> int:
    """Not where it is only a lower bound: vLLM's "at least N input tokens" is the window less the answer, plus one."""
    if parts := _PARTS.search(text):
        return sum(
            _number(number)
            for number, what in _PART.findall(parts[1])
            if not re.search(r"completion|output", what, re.IGNORECASE)
        )
    return _first(_PROMPTS, text) or 0


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    return next((_number(found[1]) for pattern in patterns if (found := pattern.search(text))), None)


def _number(digits: str) -> int:
    return int(digits.replace(",", "").replace("_", "")[:12])
