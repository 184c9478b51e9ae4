"""Secrets and personal data are masked before anything is logged, reported or told.

Two ways: what this process holds as a secret is known by its value, wherever and however it comes up; what belongs to
others (a key in a library's words, a customer's card) is known by its shape.
"""

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

SECRET = "<secret>"  # noqa: S105 - what stands in its place
SHORTEST_KNOWN = 8
"""A shorter secret is not looked for by its value: it would eat words that have nothing to do with it."""

_LONGEST = 20_000
"""Characters looked at: a log line is made from what strangers send, and more of it is not read."""

# How a key and its value stand together as JSON, Python, YAML, a header and a query write them. What says that a value
# is missing or wrong is none.
_GAP = r"""(?:\\{0,2}["'])?\s{0,3}[:=]\s{0,3}"""
_QUOTED = r"""(\\{0,2}["'])(?:(?!\2).){1,600}\2"""
_NO_VALUE = r"(?!(?:is|not|no|missing|none|null|empty|invalid|expired|wrong|required|unset|true|false|must)\b)"
_STRONG = (
    r"(?:(?:access|refresh|verify|id)_token|(?:client|app)_?secret|appsecret_proof|signed_request|passw(?:or)?d|passwd"
    r"|pwd|passphrase|пароль|(?:api|private)[_-]?key|authorization)"
)
_WEAK = r"(?:token|secret|signature|cookie|credentials?)(?![a-z_])"  # not max_tokens, not token_env

_STORES = r"rediss?|valkeys?|(?:rediss?\+)?(?:sentinel|socket)|unix|amqps?|pyamqp|postgres\w{0,20}|mysql"

# No rule may take longer than a fixed number of steps for a character, or a hostile text halts the process: what
# repeats is bounded, or starts where a run starts only.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"bot\d{5,20}:[\w-]{20,}", "bot<secret>"),
        (r"\b\d{6,20}:[\w-]{30,}", SECRET),
        (r"\b(?:EAA|IGQ|IGAA)[A-Za-z0-9_-]{8,}", SECRET),
        (r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]+", SECRET),
        (r"\b(?:sk-|whsec_)[\w+/=-]{12,}", SECRET),
        (r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}", r"\1 <secret>"),
        # A password may hold what should have been escaped, so it goes on to the last @ before a space.
        (rf"""(?i)\b({_STORES})://[^\s"'<>]{{0,500}}@""", r"\1://<secret>@"),
        (r"""(?i)\b(https?|wss?|ftp)://[^/\s"'<>@]{1,500}@""", r"\1://<secret>@"),
        (rf"(?i)({_STRONG}{_GAP}){_QUOTED}", rf"\1\2{SECRET}\2"),
        (rf"""(?i)({_STRONG}{_GAP}){_NO_VALUE}["']?[^\s"'&,;]+""", rf"\1{SECRET}"),
        (
            rf"(?i)({_WEAK}{_GAP})(\\{{0,2}}[\"'])(?=[^\"']{{0,60}}\d|[^\"']{{24}})[^\"'\s]{{8,600}}\2",
            rf"\1\2{SECRET}\2",
        ),
        (rf"(?i)({_WEAK}{_GAP})(?=[\w.~+/=%-]{{0,60}}\d|[\w.~+/=%-]{{24}})[\w.~+/=%-]{{12,}}", rf"\1{SECRET}"),
        # App secrets, signatures, proofs: 32 hexadecimal digits and more. A conversation's hash has 16.
        (r"(?i)(?<![\w-])[0-9a-f]{32,}(?![\w-])", SECRET),
        (r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", "<email>"),
    )
)
# What none of the rules can find anything in, which is nearly every field of a log line, pays for this look alone.
_SUSPECT = re.compile(r"[@=:]|EAA|IGQ|IGAA|eyJ|sk-|whsec_|\d(?:\D{0,5}\d){9}|[0-9A-Fa-f]{32}|(?i:bearer|basic)\s")
_NAMES_A_SECRET = re.compile(rf"(?i)(?:{_STRONG}|{_WEAK})$")
_CARD = re.compile(r"(?<![\w.-])[2-6](?:[ \u00a0\u2009-]?[0-9]){12,18}(?![\w-])")
_NUMBER = re.compile(r"(?<![\w.:-])\+?\d(?:[\s()-]{0,5}\d){9,14}(?![\w.:-])")
_ACCOUNT_ID_DIGITS = 17  # no card has so many, and Instagram's ids do

_known: tuple[str, ...] = ()


def know_secrets(values: Iterable[str]) -> None:
    """From now on these are masked wherever they come up, also escaped as JSON, HTML or an address have them."""
    global _known  # noqa: PLW0603 - a process has one set of secrets, and a log's processor takes no arguments
    long_enough = {value for value in values if len(value) >= SHORTEST_KNOWN}
    forms = {form for value in long_enough for form in _forms(value)}
    _known = tuple(sorted(forms, key=len, reverse=True))  # one may be the beginning of another


def mask_known(text: str, instead: str = SECRET) -> str:
    """Without this process's own secrets; everything else stays."""
    for secret in _known:
        if secret in text:
            text = text.replace(secret, instead)
    return text


def mask(text: str) -> str:
    """Over-masking is fine: a log line is read for its event and its ids, which are hashes. A long text is cut."""
    text = mask_known(text)
    if len(text) > _LONGEST:
        text = _without_middle(text)
    if _SUSPECT.search(text) is None:
        return text
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _NUMBER.sub("<number>", _CARD.sub(_card_or_not, text))


def masked(value: Any) -> Any:
    """The same with every text in it masked, however deep; what is no plain value becomes the text it is logged as."""
    if isinstance(value, str):
        return mask(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {
            mask(str(key)): SECRET if isinstance(item, str) and _NAMES_A_SECRET.search(str(key)) else masked(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [masked(item) for item in value]
    return mask(repr(value))


def _forms(value: str) -> set[str]:
    return {value, quote(value, safe=""), quote(value), json.dumps(value)[1:-1], html.escape(value)}


def _card_or_not(found: re.Match[str]) -> str:
    digits = [int(character) for character in found[0] if character.isdecimal()]
    if len(digits) == _ACCOUNT_ID_DIGITS:
        return found[0]
    doubled = [digit * 2 - 9 * (digit > 4) if at % 2 else digit for at, digit in enumerate(reversed(digits))]
    return "<card>" if sum(doubled) % 10 == 0 else found[0]  # Luhn's check, ISO/IEC 7812-1


def _without_middle(text: str) -> str:
    """The words beside the cut go, too: half a secret would not be known as one."""
    half = _LONGEST // 2
    begin, end = "".join(text[:half].rsplit(maxsplit=1)[:1]), "".join(text[-half:].split(maxsplit=1)[-1:])
    return f"{begin} [{len(text) - _LONGEST} characters cut] {end}"
