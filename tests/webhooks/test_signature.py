import hashlib
import hmac
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.signature import is_signed, parse_signature

SECRET = b"invented-app-secret-01"
EMPTY = b'{"object":"instagram","entry":[]}'
ESCAPED = (
    rb'{"object":"instagram","entry":[{"id":"17841400000000042","time":1790000000123,"messaging":[{"sender":'
    rb'{"id":"9001000000000123"},"recipient":{"id":"17841400000000042"},"timestamp":1790000000001,"message":'
    rb'{"mid":"aWdfTEST_0001","text":"\u041f\u0440\u0438\u0432\u0435\u0442 caf\u00e9 \ud83d\ude80 a\/b"}}]}]}'
)
ESCAPED_DIGEST = b"sha256=7bcc9a9a6f9b5c361e32deadcc6c51a2972939fe3b32ef606fc67ec6c0b29c2c"


def signs(body: bytes, header: bytes | None, secrets: Sequence[bytes]) -> bool:
    digest = parse_signature(header)
    return digest is not None and is_signed(body, digest, secrets)


def header(body: bytes, secret: bytes = SECRET) -> bytes:
    return b"sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest().encode()


@pytest.mark.parametrize(
    ("body", "signature"),
    [
        (EMPTY, b"sha256=8effe15169940c86213919a2fd8c27ceba7b4b17eb7ec250cb372f24eab21039"),
        (ESCAPED, ESCAPED_DIGEST),
    ],
)
def test_known_bodies_match_their_published_signatures(body: bytes, signature: bytes) -> None:
    assert signs(body, signature, [SECRET])


def test_a_reserialised_body_is_refused() -> None:
    parsed = json.loads(ESCAPED)

    assert not signs(json.dumps(parsed, ensure_ascii=True, separators=(",", ":")).encode(), ESCAPED_DIGEST, [SECRET])
    assert not signs(json.dumps(parsed, ensure_ascii=False, separators=(",", ":")).encode(), ESCAPED_DIGEST, [SECRET])


def test_a_body_that_a_proxy_decoded_still_matches() -> None:
    decoded = ESCAPED.replace(rb"\u041f\u0440\u0438\u0432\u0435\u0442", "Привет".encode())
    decoded = decoded.replace(rb"\u00e9", "é".encode()).replace(rb"\ud83d\ude80", "🚀".encode())

    assert decoded != ESCAPED
    assert signs(decoded, ESCAPED_DIGEST, [SECRET])


def test_bytes_that_are_no_text_are_refused_and_match_when_signed_as_they_are() -> None:
    body = b'{"a":"\xff\xfe"}'

    assert not signs(body, header(b"another"), [SECRET])
    assert signs(body, header(body), [SECRET])


def test_any_of_the_secrets_may_match() -> None:
    assert signs(EMPTY, header(EMPTY, b"second"), [b"first", b"second", b"third"])
    assert not signs(EMPTY, header(EMPTY, b"fourth"), [b"first", b"second", b"third"])


def test_without_a_secret_nothing_matches() -> None:
    assert not signs(EMPTY, header(EMPTY), [])
    assert not signs(EMPTY, header(EMPTY, b""), [b""])


@pytest.mark.parametrize(
    "odd",
    [
        None,
        b"",
        b"sha256=",
        b"sha1=a173ad320ed4e5448cdb342078fcd4d015415856",
        header(EMPTY).removeprefix(b"sha256="),
        header(EMPTY)[:-1],
        header(EMPTY) + b"0",
        header(EMPTY) + b"\n",
        b" " + header(EMPTY),
        b"sha256=" + b"g" * 64,
        b"sha256=" + "é".encode() * 32,
    ],
)
def test_a_missing_or_malformed_header_is_refused(odd: bytes | None) -> None:
    assert parse_signature(odd) is None
    assert not signs(EMPTY, odd, [SECRET])


def test_uppercase_hex_is_the_same_digest() -> None:
    assert signs(EMPTY, b"sha256=" + header(EMPTY)[7:].upper(), [SECRET])


@given(body=st.binary(max_size=300), secret=st.binary(min_size=1, max_size=40), other=st.binary(max_size=300))
def test_exactly_the_signed_bytes_match(body: bytes, secret: bytes, other: bytes) -> None:
    assert signs(body, header(body, secret), [secret])
    if other.isascii() and other != body:
        assert not signs(other, header(body, secret), [secret])


@given(
    text=st.text(st.characters(exclude_characters="\x7f", codec="utf-8"), max_size=100)
)  # ASCII: not for us to escape
def test_every_decoded_text_matches_its_escaped_signature(text: str) -> None:
    escaped = json.dumps({"text": text}).encode()
    decoded = json.dumps({"text": text}, ensure_ascii=False).encode()

    assert signs(decoded, header(escaped), [SECRET])


@pytest.mark.parametrize("letters", ["я", "é", "🚀", "яa", "éa🚀b", "\u2028\uffff\u0080\U0010ffff"])
def test_a_decoded_body_of_many_pieces_matches(letters: str) -> None:
    """Whatever letter a piece begins or ends with."""
    for before in range(8):
        text = "x" * before + letters * (40_000 // len(letters.encode()))
        escaped = json.dumps({"text": text}).encode()
        decoded = json.dumps({"text": text}, ensure_ascii=False).encode()

        assert signs(decoded, header(escaped), [b"another", SECRET])
        assert not signs(decoded + b" ", header(escaped), [b"another", SECRET])


@pytest.mark.parametrize("end", [b"\xd0", b"\xf0\x9f\x9a", b"\xed\xa0\xbd", b"\xc0\x80"])
def test_half_a_letter_is_no_decoded_body(end: bytes) -> None:
    assert not signs("я".encode() + end, header(b"another"), [SECRET])


def test_no_secret_matches_no_decoded_body() -> None:
    assert not signs("я".encode(), header(b"\\u044f", b""), [b""])
