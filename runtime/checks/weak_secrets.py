"""Secrets that are none: well-known words, what an example left behind, and what is too short to be guessed late."""

import re

SHORTEST = 12
"""Characters of a secret that strangers may try again and again over the network."""

_PLACEHOLDER = re.compile(
    r"<.*>|\[.*\]|\{.*\}|(?:your|insert|replace|put|enter|paste|my)[-_ ].*|(.)\1*|todo.*", re.IGNORECASE
)
_WORDS = (
    "admin administrator changeit changeme default demo dummy example flower foobared guest hunter2 insecure letmein "
    "login nightshift none nopassword notsecret null pass passw0rd password placeholder qwerty redis root sandbox "
    "secret secretkey supersecret temp test testing todo token user valkey welcome пароль секрет"
)
_KNOWN = frozenset(_WORDS.split())
_ENDS = re.compile(r"[\d!@#$%^&*.]+$")


def is_well_known(secret: str) -> bool:
    """Whether it is among the first that attackers try, or a hint of what was to be put there."""
    plain = re.sub(r"[-_ ]", "", secret.casefold())
    return bool(
        _PLACEHOLDER.fullmatch(secret)
        or plain in _KNOWN
        or _ENDS.sub("", plain) in _KNOWN
        or plain in "01234567890123456789"
        or plain in "abcdefghijklmnopqrstuvwxyz"
    )


def is_short(secret: str) -> bool:
    return len(secret) < SHORTEST
