"""Who may see how the system is doing: those who know `OPS_TOKEN`, or without one those on this very machine."""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import ip_address

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from runtime.clock import monotonic
from runtime.logging import get_logger
from webhooks.guards.throttle import Throttle

log = get_logger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]

_LOG_AGAIN_SECONDS = 30.0

# Behind a proxy on this machine every stranger comes from 127.0.0.1, and one of these is how it shows. No list can be
# whole; a proxy that sets none of them passes the public Host on, or has to be told the token.
_FORWARDING = frozenset(
    {
        "forwarded",
        "via",
        "client-ip",
        "true-client-ip",
        "fastly-client-ip",
        "cdn-loop",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-host",
        "x-proxyuser-ip",
        "x-amzn-trace-id",
        "x-arr-log-id",
    }
)
_FORWARDING_PREFIXES = ("x-forwarded", "x-original", "x-envoy-", "x-azure-", "cf-", "cloudfront-", "x-appengine-")


def operators_only(token: str, show: Endpoint) -> Endpoint:
    """`show` for operators. Others get 401 where a token is set, and 403 where none is."""
    throttle = Throttle(_LOG_AGAIN_SECONDS, monotonic)
    expected = token.strip().encode()

    async def guarded(request: Request) -> Response:
        if expected:
            if _knows(expected, request):
                return await show(request)
            reason, refusal = "no bearer token, or another one than OPS_TOKEN", _unauthorized()
        elif why := _why_not_local(request):
            reason, refusal = f"{why}; set OPS_TOKEN to ask from elsewhere", _forbidden()
        else:
            return await show(request)
        if (held_back := throttle.passes(reason)) is not None:  # the whole internet may ask
            log.warning("operators_only", path=request.url.path, reason=reason, held_back=held_back)
        return refusal

    return guarded


def _knows(expected: bytes, request: Request) -> bool:
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        return False
    scheme, _, token = given[0].partition(" ")
    # Starlette reads headers as latin-1, so this gives back the bytes that came.
    return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode("latin-1"), expected)


def _why_not_local(request: Request) -> str:
    """What speaks against a caller on this machine who asks for themselves; "" when nothing does."""
    if request.client is None or not _is_loopback(request.client.host):
        return "asked from another machine"
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or not _is_loopback(_without_port(hosts[0])):
        return "asked for by a public Host, as through a proxy"
    # nginx passes no header and a Host of its own making unless it is told to, but long spoke the older protocol.
    if _has_forwarding(request.headers) or request.scope["http_version"] == "1.0":
        return "asked for in the way of a proxy"
    return ""


def _has_forwarding(headers: Mapping[str, str]) -> bool:
    return any(name in _FORWARDING or name.startswith(_FORWARDING_PREFIXES) for name in headers)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)  # how an IPv6 socket shows an IPv4 peer
    return bool((mapped or address).is_loopback)


def _unauthorized() -> Response:
    headers = {"WWW-Authenticate": 'Bearer realm="nightshift"', "Cache-Control": "no-store"}
    return PlainTextResponse("Unauthorized", status_code=401, headers=headers)


def _forbidden() -> Response:
    return PlainTextResponse("Forbidden", status_code=403, headers={"Cache-Control": "no-store"})
