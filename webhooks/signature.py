"""Does a body come from Meta? HMAC-SHA256 over the raw bytes, with any of the app secrets."""

import hmac
import re
from binascii import unhexlify
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii

_PREFIX = b"sha256="
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
# Escaping is the one costly step that an unsigned body could ask for, so it has a bound of its own (bytes).
_ESCAPE_AT_MOST = 2 * 1024 * 1024


def parse_signature(header: bytes | None) -> bytes | None:
    """The digest that `X-Hub-Signature-256: sha256=<hex>` carries; None when the header is missing or malformed."""
    if header is None or len(header) != len(_PREFIX) + 64 or not header.startswith(_PREFIX):
        return None
    try:
        return unhexlify(header[len(_PREFIX) :])
    except ValueError:
        return None


def is_signed(body: bytes, digest: bytes, secrets: Sequence[bytes]) -> bool:
    """True when `digest` is that of exactly these bytes under one of `secrets`; no secret never matches."""
    if _matches(body, digest, secrets):
        return True
    # Meta signs the escaped form. Non-ASCII bytes mean that a proxy has decoded it on the way.
    if body.isascii() or len(body) > _ESCAPE_AT_MOST:
        return False
    try:
        escaped = _NON_ASCII.sub(lambda run: encode_basestring_ascii(run.group())[1:-1], body.decode())
    except UnicodeDecodeError:
        return False
    return _matches(escaped.encode("ascii"), digest, secrets)


def _matches(body: bytes, digest: bytes, secrets: Sequence[bytes]) -> bool:
    found = False
    for secret in secrets:
        found |= bool(secret) and hmac.compare_digest(hmac.digest(secret, body, "sha256"), digest)
    return found
