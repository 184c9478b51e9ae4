"""What any stranger can write into a socket: it is answered or hung up on, and nothing unsigned is stored."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webhooks.guards.raw import HELLO, PATH, SIGNED, Receiver, chunked, request, serve, signed, statuses
from tests.webhooks.support import VERIFY_TOKEN, sign


@pytest.fixture(scope="module")
def hasty() -> Iterator[Receiver]:
    """Waits for nobody, so that very many connections can be read to their end; may give up on a good one, too."""
    yield from serve(keep_alive_seconds=0, head_seconds=0.3)


METHODS = st.sampled_from(
    [
        b"GET",
        b"POST",
        b"PUT",
        b"PATCH",
        b"DELETE",
        b"OPTIONS",
        b"HEAD",
        b"TRACE",
        b"CONNECT",
        b"PROPFIND",
        b"BREW",
        b"post",
    ]
)
TARGETS = st.sampled_from(
    [
        PATH,
        PATH,
        PATH + b"/",
        PATH + b"//",
        b"/webhooks/meta/x",
        b"//webhooks/meta",
        b"/webhooks/%6deta",
        b"/webhooks/meta%00",
        b"/webhooks/meta%2f..",
        b"/webhooks/meta?hub.mode=subscribe&hub.challenge=<b>1</b>&hub.verify_token=" + VERIFY_TOKEN.encode(),
        b"/webhooks/meta?hub.mode[]=subscribe&hub.challenge[]=1&hub.verify_token[]=x",
        b"/webhooks/meta?hub.challenge=1&hub.challenge=%3Cscript%3E&hub.mode=subscribe&hub.verify_token="
        + VERIFY_TOKEN.encode(),
        b"/webhooks/meta?%ff=%fe&;&&==",
        b"http://elsewhere.invalid/webhooks/meta",
        b"*",
        b"/health/live",
        b"/health/ready/",
        b"/health/<script>",
        b"/health/system",
        b"/metrics",
        b"/metrics?name[]=<b>",
        b"/../../etc/passwd",
        b"/" + b"a" * 2000,
        b"/\xff\xfe",
    ]
)
SIGNATURES = st.sampled_from(
    [
        (b"X-Hub-Signature-256: " + SIGNED,),
        (b"x-hub-signature-256:" + SIGNED,),
        (b"X-Hub-Signature-256: sha256=" + SIGNED[7:].upper(),),
        (b"X-Hub-Signature-256: sha256=00", b"X-Hub-Signature-256: " + SIGNED),
        (b"X-Hub-Signature-256: " + SIGNED, b"X-Hub-Signature-256: sha256=00"),
        (b"X-Hub-Signature-256: " + SIGNED[:-1],),
        (b"X-Hub-Signature-256: " + SIGNED + b"0",),
        (b"X-Hub-Signature-256: SHA256=" + SIGNED[7:],),
        (b"X-Hub-Signature-256: sha256=" + b"\xd0\xb0" * 32,),
        (b"X-Hub-Signature-256: \xff\xfe",),
        (b"X-Hub-Signature-256: " + sign(HELLO, "another secret")["X-Hub-Signature-256"].encode(),),
        (b"X-Hub-Signature-256: " + sign(b"")["X-Hub-Signature-256"].encode(),),
        (b"X-Hub-Signature: sha1=a173ad320ed4e5448cdb342078fcd4d015415856",),
        (b"X-Hub-Signature: " + SIGNED,),
        (),
    ]
)
BODIES = st.sampled_from(
    [HELLO, HELLO, HELLO, b"", b"{}", HELLO + b" ", b"\x1f\x8b\x08\x00", b"<script>", b"\x00" * 3000]
)


@st.composite
def framed(draw: st.DrawFn) -> tuple[tuple[bytes, ...], bytes]:
    """The headers that say how long a body is, not always in good faith, and the body as it is sent."""
    body: bytes = draw(BODIES)
    length = b"Content-Length: %d" % len(body)
    return draw(
        st.sampled_from(
            [
                ((length,), body),
                ((length,), body),
                ((b"Content-Length: %d" % (len(body) + 9),), body),
                ((b"Content-Length: %d" % max(len(body) - 9, 0),), body),
                ((b"Content-Length: -1",), body),
                ((b"Content-Length: 9" + b"9" * 30,), body),
                ((b"Content-Length: 1e3",), body),
                ((b"Content-Length: 99999999",), body),
                ((length, b"Content-Length: 7"), body),
                ((length, length), body),
                ((length, b"Transfer-Encoding: chunked"), body),
                ((length, b"Content-Encoding: gzip"), body),
                ((length, b"Expect: 100-continue"), body),
                ((length, b"Expect: everything"), body),
                ((b"Transfer-Encoding: chunked",), chunked(body)),
                ((b"Transfer-Encoding: chunked",), chunked(body, 1)[:-5]),
                ((b"Transfer-Encoding: chunked",), b"zz\r\n" + body),
                ((b"Transfer-Encoding: chunked",), b"fffffffffffffffff\r\n" + body),
                ((b"Transfer-Encoding: gzip, chunked",), chunked(body)),
                ((b"Transfer-Encoding: identity",), body),
                ((), body),
            ]
        )
    )


EXTRAS = st.lists(
    st.sampled_from(
        [
            b"Connection: close",
            b"Connection: keep-alive",
            b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA",
            b"Host: <b>elsewhere</b>.invalid",
            b"X-Forwarded-Host: <script>",
            b"X-Odd: \xff\x01\x7f",
            b"X-Nul: a\x00b",
            b"X-Long: " + b"a" * 3000,
            b" folded: yes",
            b"no colon here",
            b": no name",
            b"X-Space : yes",
            b"Content-Type: text/html",
            b"Range: bytes=0-1",
        ]
    ),
    max_size=3,
)
VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"HTTP/2", b"", b"ICY"])


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=METHODS,
    target=TARGETS,
    version=VERSIONS,
    signature=SIGNATURES,
    framing=framed(),
    extras=EXTRAS,
    repeat=st.integers(1, 3),
    hang_up=st.booleans(),
)
def test_any_request_is_answered_or_hung_up_on(
    hasty: Receiver,
    method: bytes,
    target: bytes,
    version: bytes,
    signature: tuple[bytes, ...],
    framing: tuple[tuple[bytes, ...], bytes],
    extras: list[bytes],
    repeat: int,
    hang_up: bool,
) -> None:
    hasty.store.calls.clear()
    lengths, body = framing
    one = request(*signature, *lengths, *extras, method=method, target=target, version=version, body=body)

    heard = hasty.hears(one * repeat, hang_up=hang_up)

    check_answers(heard)
    if hasty.store.calls:
        assert any(SIGNED.lower() in header.lower() for header in signature)
        assert HELLO.split(b",", 1)[0] in body  # the chunks of a body are short
        assert len(hasty.store.calls) <= repeat
        assert {getattr(event, "mid", None) for event in hasty.store.events} == {"aWdf_raw"}


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=300), st.binary(max_size=60).map(lambda junk: signed() + junk + signed())))
def test_any_bytes_are_answered_or_hung_up_on(hasty: Receiver, junk: bytes) -> None:
    check_answers(hasty.hears(junk))


def check_answers(heard: bytes) -> None:
    assert set(statuses(heard)) <= {100, 200, 400, 403, 404, 405, 408, 413, 431}, heard[:1000]
    assert b"text/html" not in heard
    assert b"<" not in heard
    for head in heard.split(b"HTTP/1.1 ")[1:]:
        if head.startswith(b"405"):
            assert re.search(rb"(?mi)^allow: \w", head), head
