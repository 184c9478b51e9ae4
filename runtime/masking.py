"""Secrets and personal data are masked before anything is logged or reported."""

import re

_LONGEST = 20_000
"""Characters looked at: a log line is made from what strangers send, and nobody reads more of it."""

# No rule may take longer than a fixed number of steps for a character, or a hostile text halts the process: what
# repeats is bounded, or starts where a run starts only.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"bot\d{5,}:[\w-]{20,}"), "bot<secret>"),
    (re.compile(r"\b\d{6,}:[\w-]{30,}"), "<secret>"),
    (re.compile(r"\b(?:EAA|IGQ|IGAA)[A-Za-z0-9_-]{8,}"), "<secret>"),
    (re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]+"), "<secret>"),
    (re.compile(r"\bsk-[\w-]{12,}"), "<secret>"),
    (
        re.compile(r"(?i)\b(access_token|client_secret|appsecret_proof|signed_request|password|api_key)=[^&\s\"']+"),
        r"\1=<secret>",
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 <secret>"),
    (re.compile(r"(?i)(redis|rediss|valkey|sentinel|amqps?)://[^@/\s]*@"), r"\1://<secret>@"),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), "<email>"),
    (re.compile(r"(?<![\w.:-])\+?\d(?:[\s()-]{0,5}\d){9,14}(?![\w.:-])"), "<number>"),
)


def mask(text: str) -> str:
    """Over-masking is fine: a log line is read for its event and its ids, which are hashes. A long text is cut."""
    if len(text) > _LONGEST:
        text = _without_middle(text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def _without_middle(text: str) -> str:
    """The words beside the cut go, too: half a secret would not be known as one."""
    half = _LONGEST // 2
    begin, end = "".join(text[:half].rsplit(maxsplit=1)[:1]), "".join(text[-half:].split(maxsplit=1)[-1:])
    return f"{begin} [{len(text) - _LONGEST} characters cut] {end}"
