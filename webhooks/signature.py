"""Does a body come from Meta? HMAC-SHA256 over the raw bytes, with any of the app secrets."""

import hmac
from binascii import unhexlify
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence

_PREFIX = b"sha256="

ESCAPE_AT_MOST = 2 * 1024 * 1024
"""Bytes. Of what a stranger sends, escaping costs the most, so it has a bound of its own."""

# Of a body, at once: so long another thread waits for this one, a fraction of a millisecond.
_PIECE_BYTES = 8192

_HIGH_DIGIT = bytes(b"0123456789abcdef"[byte >> 4] for byte in range(256))
_LOW_DIGIT = bytes(b"0123456789abcdef"[byte & 15] for byte in range(256))
_UNLESS_ZERO = bytes(0xFF if byte else 0 for byte in range(256))
_UNLESS_ASCII = bytes(0xFF if byte >= 0x80 else 0 for byte in range(256))


def parse_signature(header: bytes | None) -> bytes | None:
    """The digest that `X-Hub-Signature-256: sha256=<hex>` carries; None when the header is missing or malformed."""
    if header is None or len(header) != len(_PREFIX) + 64 or not header.startswith(_PREFIX):
        return None
    try:
        return unhexlify(header[len(_PREFIX) :])
    except ValueError:
        return None


def is_signed(body: bytes, digest: bytes, secrets: Sequence[bytes]) -> bool:
    """True when `digest` is that of these bytes, or of what Meta has sent for them; no secret never matches."""
    return is_signed_as_it_is(body, digest, secrets) or is_signed_escaped(body, digest, secrets)


def is_signed_as_it_is(body: bytes, digest: bytes, secrets: Sequence[bytes]) -> bool:
    """Exactly these bytes. Python gives the interpreter free meanwhile, so a thread of its own holds up no request."""
    found = False
    for secret in secrets:
        found |= bool(secret) and hmac.compare_digest(hmac.digest(secret, body, "sha256"), digest)
    return found


def may_be_unescaped(body: bytes) -> bool:
    """Whether `is_signed_escaped` could say yes: Meta's bodies are ASCII, and a proxy may have decoded this one."""
    return len(body) <= ESCAPE_AT_MOST and not body.isascii()


def is_signed_escaped(body: bytes, digest: bytes, secrets: Sequence[bytes]) -> bool:
    """Meta signs the body with every character beyond ASCII escaped, and sends it so; here they are escaped again.

    It costs some ten times as much as `is_signed_as_it_is`.
    """
    if not may_be_unescaped(body):
        return False
    hashes = [hmac.new(secret, digestmod="sha256") for secret in secrets if secret]
    try:
        for piece in _escaped_pieces(body):
            for each in hashes:
                each.update(piece)
    except UnicodeDecodeError:
        return False
    found = False
    for each in hashes:
        found |= hmac.compare_digest(each.digest(), digest)
    return found


def _escaped_pieces(body: bytes) -> Iterator[bytes]:
    decoder = getincrementaldecoder("utf-8")()
    for start in range(0, len(body), _PIECE_BYTES):
        yield _escape(decoder.decode(body[start : start + _PIECE_BYTES]))
    decoder.decode(b"", final=True)


def _escape(text: str) -> bytes:
    r"""As JSON does beyond ASCII (`\u041f`, `\ud83d\ude80`), and nothing within it.

    Without a step of Python's for any character, so that no text costs more than another: every unit of UTF-16 becomes
    six bytes, of which an ASCII one keeps the last; what is too much is 0xff and taken out at the end.
    """
    if text.isascii():
        return text.encode("ascii")
    units = text.encode("utf-16-be")
    high, low = units[::2], units[1::2]
    size = len(high)
    escaped = int.from_bytes(high.translate(_UNLESS_ZERO)) | int.from_bytes(low.translate(_UNLESS_ASCII))
    plain = escaped ^ ((1 << 8 * size) - 1)
    digits = (high.translate(_HIGH_DIGIT), high.translate(_LOW_DIGIT), low.translate(_HIGH_DIGIT))
    six = bytearray(6 * size)
    for place, column in enumerate((b"\\" * size, b"u" * size, *digits)):
        six[place::6] = (int.from_bytes(column) & escaped | plain).to_bytes(size)
    last = int.from_bytes(low.translate(_LOW_DIGIT)) & escaped | int.from_bytes(low) & plain
    six[5::6] = last.to_bytes(size)
    return bytes(six.translate(None, b"\xff"))
