"""Reads the address of a Redis: the one place that knows what a URL says, for redis-py, for Celery and for Flower.

kombu and redis-py read the same URL differently (kombu wants ssl_cert_reqs and takes TLS for optional, redis-py takes
any query parameter for an argument of its own), so neither is given it. Nothing here repeats a secret: what is wrong
with an address is told without the address.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from runtime.addresses.sentinel_url import RedisUrlInvalid, read_sentinels

DEFAULT_PORT = 6379
FORMS = "redis://, rediss://, unix:// or sentinel://"

_PLAIN, _TLS = ("redis", "valkey"), ("rediss", "valkeys")
_SOCKETS = ("unix", "redis+socket")
_SENTINELS = ("sentinel", "redis+sentinel", "rediss+sentinel")
_MASTER_OPTIONS = ("master", "master_name", "service_name")
_NO = ("0", "f", "false", "n", "no", "off")
_CERT_REQS = {f"{prefix}{name}": name for prefix in ("", "cert_") for name in ("none", "optional", "required")}
_MIN_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TLS_FILES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
_TLS_TEXTS = ("ssl_ca_data", "ssl_ciphers", "ssl_password")


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """`nodes` are (host, port): the server, or the sentinels where `master`, the name they know it by, is set.

    `path` is a Unix socket, and there are no nodes then. `tls` holds redis-py's `ssl_*` options, and is None without
    TLS. `remarks` tell what of the address is ignored or dangerous.
    """

    nodes: tuple[tuple[str, int], ...] = ()
    path: str = ""
    master: str = ""
    database: int = 0
    username: str = ""
    password: str = field(default="", repr=False)
    tls: Mapping[str, Any] | None = field(default=None, repr=False)
    sentinel_username: str = ""
    sentinel_password: str = field(default="", repr=False)
    sentinel_tls: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def connection_options(self) -> dict[str, Any]:
        """Arguments of redis-py's connection classes, for the server itself; behind Sentinel without its place."""
        place: dict[str, Any] = {}
        if self.path:
            place = {"path": self.path}
        elif not self.master:
            place = dict(zip(("host", "port"), self.nodes[0], strict=True))
        return place | {"db": self.database} | _login(self.username, self.password) | dict(self.tls or {})

    @property
    def sentinel_options(self) -> dict[str, Any]:
        """Arguments of redis-py's client for a sentinel."""
        tls = {"ssl": True, **(self.tls or {})} if self.sentinel_tls else {}
        return _login(self.sentinel_username, self.sentinel_password) | tls

    @property
    def public_url(self) -> str:
        """The address as kombu writes it, without login: to be shown, and for Celery's configuration."""
        if self.path:
            return f"redis+socket://{quote(self.path)}?virtual_host={self.database}"
        scheme = "sentinel" if self.master else "rediss" if self.tls is not None else "redis"
        # Without it kombu warns that it will not look at certificates; what it does is said by `connection_options`.
        query = f"?ssl_cert_reqs={self.tls['ssl_cert_reqs']}" if self.tls is not None else ""
        hosts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.nodes)
        return ";".join(f"{scheme}://{host}/{self.database}{query}" for host in hosts)


def is_redis_url(url: str) -> bool:
    return _scheme(url) in (*_PLAIN, *_TLS, *_SOCKETS, *_SENTINELS)


def read_redis_url(url: str) -> RedisAddress:
    """Raise `RedisUrlInvalid`.

    `redis://[user:password@]host:port/db`, `rediss://` with TLS (and redis-py's `ssl_*` parameters; certificates are
    verified unless `ssl_cert_reqs=none`), `unix://[user:password@]/path?db=n`, and the forms of
    runtime/addresses/sentinel_url.py, with TLS for `rediss+sentinel://` or when `ssl_*` parameters are given.
    """
    scheme = _scheme(url)
    if not is_redis_url(url):
        raise RedisUrlInvalid(f"must begin with {FORMS}")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise RedisUrlInvalid("holds a space or an invisible character")
    if "#" in url:
        raise RedisUrlInvalid("holds a #; in a password write it as %23")
    try:
        if scheme in _SENTINELS:
            return _behind_sentinel(url, scheme)
        return _socket(url, scheme) if scheme in _SOCKETS else _server(url, scheme)
    except RedisUrlInvalid:
        raise
    except ValueError:  # urllib's own words repeat the address
        raise RedisUrlInvalid(
            "cannot be read: the port is no number up to 65535, or the password holds a character such as / ? [ ] that "
            "must be percent-encoded"
        ) from None


def _server(url: str, scheme: str) -> RedisAddress:
    parts = urlsplit(url)
    if "@" in parts.path or "@" in parts.query:
        raise RedisUrlInvalid("a / or ? in the password must be written as %2F or %3F, and an @ after the host as %40")
    options = _options(parts.query)
    tls = _tls(options) if scheme in _TLS else None
    _refuse_tls_without_it(options, tls, scheme)
    return RedisAddress(
        nodes=((unquote(parts.hostname or "localhost"), parts.port or DEFAULT_PORT),),
        database=_database(options.get("db", "") or unquote(parts.path).strip("/")),
        tls=tls,
        remarks=_remarks(options, tls),
        **_credentials(parts.netloc.rpartition("@")[0]),
    )


def _socket(url: str, scheme: str) -> RedisAddress:
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    if not parts.path.strip("/") or host:
        raise RedisUrlInvalid("names no socket; write unix:///path/of/the/socket?db=0")
    options = _options(parts.query)
    _refuse_tls_without_it(options, None, scheme)
    return RedisAddress(
        path=unquote(parts.path),
        database=_database(options.get("db", "") or options.get("virtual_host", "")),
        remarks=_remarks(options, None, "virtual_host"),
        **_credentials(login),
    )


def _behind_sentinel(url: str, scheme: str) -> RedisAddress:
    sentinels = read_sentinels(url, scheme)
    options = _options(sentinels.query)
    tls = _tls(options) if scheme.startswith("rediss") or _asks_for_tls(options) else None
    own = ("sentinel_username", "sentinel_password", "sentinel_tls")
    return RedisAddress(
        nodes=sentinels.nodes,
        master=next((options[name] for name in _MASTER_OPTIONS if options.get(name)), sentinels.master),
        database=sentinels.database if sentinels.database is not None else _database(options.get("db", "")),
        tls=tls,
        sentinel_username=options.get("sentinel_username", ""),
        sentinel_password=options.get("sentinel_password", ""),
        sentinel_tls=tls is not None and options.get("sentinel_tls", "yes").lower() not in _NO,
        remarks=_remarks(options, tls, *_MASTER_OPTIONS, *own),
        **_credentials(sentinels.login),
    )


def _options(query: str) -> dict[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))


def _credentials(login: str) -> dict[str, Any]:
    username, _, password = login.partition(":")
    return {"username": unquote(username), "password": unquote(password)}


def _scheme(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator else ""


def _login(username: str, password: str) -> dict[str, str]:
    return {name: value for name, value in (("username", username), ("password", password)) if value}


def _database(text: str) -> int:
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise RedisUrlInvalid("the database after the last / must be a number")
    return int(text)


def _asks_for_tls(options: Mapping[str, str]) -> bool:
    wishes = (value for name, value in options.items() if name in ("ssl", "tls"))
    return any(name.startswith("ssl_") for name in options) or any(value.lower() not in _NO for value in wishes)


def _refuse_tls_without_it(options: Mapping[str, str], tls: Mapping[str, Any] | None, scheme: str) -> None:
    if tls is None and _asks_for_tls(options):
        raise RedisUrlInvalid(f"has options of TLS, but {scheme}:// speaks without it; write rediss://")


def _tls(options: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"ssl_cert_reqs": "required"}
    for name, value in options.items():
        if not name.startswith("ssl_"):
            continue
        if name in _TLS_FILES:
            if not Path(value).exists():
                raise RedisUrlInvalid(f"{name} names {value}, which does not exist")
            found[name] = value
        elif name in _TLS_TEXTS:
            found[name] = value
        elif name == "ssl_cert_reqs" and value.lower() in _CERT_REQS:
            found[name] = _CERT_REQS[value.lower()]
        elif name == "ssl_check_hostname":
            found[name] = value.lower() not in _NO
        elif name == "ssl_min_version" and value in _MIN_VERSIONS:
            found[name] = _MIN_VERSIONS[value]
        elif name in ("ssl_cert_reqs", "ssl_min_version"):
            choice = ("required", "optional", "none") if name == "ssl_cert_reqs" else tuple(_MIN_VERSIONS)
            raise RedisUrlInvalid(f"{name} must be one of {', '.join(choice)}")
        else:
            raise RedisUrlInvalid(f"{name} is no option of TLS that is known here")
    return found


def _remarks(options: Mapping[str, str], tls: Mapping[str, Any] | None, *known: str) -> tuple[str, ...]:
    remarks = [
        f"the option {name} in the address is ignored"
        for name in options
        if name not in (*known, "db", "ssl", "tls") and not name.startswith("ssl_")
    ]
    if tls is not None and tls["ssl_cert_reqs"] == "none":
        remarks.append("ssl_cert_reqs=none: a machine in between can pose as the server and read the password")
    return tuple(remarks)


__all__ = ["RedisAddress", "RedisUrlInvalid", "is_redis_url", "read_redis_url"]
