"""Whether an address in the environment can be one, judged by its text alone."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from runtime.addresses.redis_url import FORMS, RedisAddress, is_redis_url, read_redis_url
from runtime.addresses.sentinel_url import RedisUrlInvalid

OTHER_BROKERS = ("amqp", "amqps", "pyamqp")
_MOST_PORT = 65_535
_ESCAPES = "in a user name or password write / as %2F, # as %23, ? as %3F, @ as %40"
# https://docs.sentry.io/concepts/key-terms/dsn-explainer/
_DSN = re.compile(r"https?://[0-9A-Za-z]+(?::[0-9A-Za-z]+)?@[\w.-]+(?::\d{1,5})?/(?:[\w.~-]+/)*\d+/?")


@dataclass(frozen=True, slots=True)
class Fault:
    """`what` reads on after a variable's name; neither it nor `fix` holds the value, which may be a secret."""

    what: str
    fix: str


def is_port(number: int) -> bool:
    return 1 <= number <= _MOST_PORT


def web_address_fault(url: str, example: str, *, is_base: bool = True) -> Fault | None:
    """What is wrong with an http(s) address; a base is one that more of a path is appended to."""
    fix = f"write it like {example}"
    parts = _split(url)
    if "://" not in url:
        return Fault("has no scheme", fix)
    if parts is None:
        return Fault("is no address: its host or port cannot be read", fix)
    if parts.scheme not in ("http", "https"):
        return Fault(f"begins with {parts.scheme}://, not with https://", fix)
    if not parts.hostname:
        return Fault("names no host", fix)
    if is_base and (parts.query or parts.fragment):
        return Fault("has a ? or # in it, and a path is to be appended", fix)
    return None


def store_address_fault(url: str, *, is_broker: bool = False) -> Fault | None:
    """What is wrong with the address of Redis or of Celery's broker, which may be no Redis."""
    fix = "write it like redis://host:6379/0"
    scheme, separator, _ = url.partition("://")
    if not separator:
        return Fault("has no scheme", fix)
    if is_redis_url(url) or not is_broker:
        try:
            read_redis_url(url)
        except RedisUrlInvalid as exc:
            return Fault(f"cannot be used: {exc}", "")
        return None
    if scheme.lower() not in OTHER_BROKERS:
        return Fault(f"must begin with {FORMS}, or with one of {', '.join(OTHER_BROKERS)}", fix)
    parts = _split(url)
    if parts is None:
        return Fault("cannot be taken apart into host and port", _ESCAPES)
    return None if parts.hostname else Fault("names no host", fix)


def dsn_fault(dsn: str) -> Fault | None:
    """What is wrong with a DSN of Sentry's."""
    if _DSN.fullmatch(dsn):
        return None
    return Fault("is no DSN", "copy it from Sentry > Project settings > Client keys: https://KEY@HOST/NUMBER")


def is_on_this_machine(host: str) -> bool:
    name = host.strip("[]").rstrip(".").lower()
    if name in ("localhost", "host.docker.internal") or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def travels_in_the_clear(url: str) -> bool:
    """Whether what is sent to this web address can be read on its way."""
    parts = _split(url)
    return parts is not None and parts.scheme == "http" and not is_on_this_machine(parts.hostname or "")


def store_password_travels_in_the_clear(url: str) -> bool:
    """As `travels_in_the_clear`, for Redis, its sentinels or a broker with a password, beyond a private network."""
    if (address := _redis(url)) is not None:
        to_server = address.password if address.tls is None else ""
        to_sentinels = "" if address.sentinel_tls else address.sentinel_password
        return bool(to_server or to_sentinels) and any(_is_public(host) for host, _ in address.nodes)
    parts = _split(url)
    if parts is None or parts.scheme not in ("amqp", "pyamqp") or not parts.password:
        return False
    return _is_public(parts.hostname or "")


def _is_public(host: str) -> bool:
    try:
        return not ip_address(host).is_private
    except ValueError:
        return "." in host and not is_on_this_machine(host)  # a bare name is a container beside us


def passwords_of(url: str) -> set[str]:
    """Every password in the address of a store or a broker, decoded: of its login, for sentinels, of a client's key."""
    if (address := _redis(url)) is None:
        return {password_of(url)} - {""}
    return {address.password, address.sentinel_password, str((address.tls or {}).get("ssl_password", ""))} - {""}


def _redis(url: str) -> RedisAddress | None:
    try:
        return read_redis_url(url)
    except RedisUrlInvalid:
        return None


def password_of(url: str) -> str:
    """The password in an address, decoded; "" without one. Read to the last @, since people forget to escape."""
    login = url.partition("://")[2].rpartition("@")[0]
    return unquote(login.partition(":")[2])


def _split(url: str) -> SplitResult | None:
    """None where host or port cannot be read."""
    try:
        parts = urlsplit(url)
        port = parts.port  # read here: it is what raises
    except ValueError:
        return None
    return None if port == 0 else parts
