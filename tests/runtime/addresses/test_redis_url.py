"""What each form of an address says."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from runtime.addresses.redis_url import RedisAddress, RedisUrlInvalid, is_redis_url, read_redis_url

VERIFIED = {"ssl_cert_reqs": "required"}


def server(host: str = "h", port: int = 6379, **more: Any) -> RedisAddress:
    return RedisAddress(nodes=((host, port),), **more)


def behind(**more: Any) -> RedisAddress:
    values: dict[str, Any] = {"nodes": (("h1", 1), ("h2", 2)), "master": "mymaster", **more}
    return RedisAddress(**values)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://h", server()),
        ("redis://h:7/3", server(port=7, database=3)),
        ("REDIS://h/?db=4", server(database=4)),
        ("redis:///0", server("localhost")),
        ("redis://[::1]:7/0", server("::1", 7)),
        ("redis://:p%40s%2Fs@h", server(password="p@s/s")),
        ("redis://anna:p%3Aw@h/1", server(username="anna", password="p:w", database=1)),
        ("rediss://:pw@h:7/0", server(port=7, password="pw", tls=VERIFIED)),
        ("rediss://h?ssl_cert_reqs=CERT_REQUIRED", server(tls=VERIFIED)),
        ("rediss://h?ssl_check_hostname=false", server(tls={**VERIFIED, "ssl_check_hostname": False})),
        (
            "rediss://h?ssl_min_version=TLSv1.3&ssl_ciphers=HIGH",
            server(tls={**VERIFIED, "ssl_min_version": ssl.TLSVersion.TLSv1_3, "ssl_ciphers": "HIGH"}),
        ),
        ("valkeys://h", server(tls=VERIFIED)),
        ("unix:///run/redis.sock", RedisAddress(path="/run/redis.sock")),
        (
            "unix://anna:p%40w@/run/a%20b.sock?db=2",
            RedisAddress(path="/run/a b.sock", username="anna", password="p@w", database=2),
        ),
        ("redis+socket:///run/redis.sock?virtual_host=2", RedisAddress(path="/run/redis.sock", database=2)),
        ("sentinel://h1:1,h2:2/main/3", behind(master="main", database=3)),
        ("redis+sentinel://user:p%40ss@h1:1,h2:2/main", behind(master="main", username="user", password="p@ss")),
        ("rediss+sentinel://:pw@h1:1,h2:2", behind(password="pw", tls=VERIFIED, sentinel_tls=True)),
        ("sentinel://h1:1,h2:2?ssl_cert_reqs=required", behind(tls=VERIFIED, sentinel_tls=True)),
        ("rediss+sentinel://h1:1,h2:2?sentinel_tls=no", behind(tls=VERIFIED)),
        ("sentinel://h1:1,h2:2?sentinel_password=s", behind(sentinel_password="s")),
        ("sentinel://h1:1/2;sentinel://h2:2/2", behind(database=2)),
        ("sentinel://:pw@h1:1;sentinel://:pw@h2:2", behind(password="pw")),
        ("sentinel://:p,w@h1:1,h2:2", behind(password="p,w")),
        ("sentinel://h1:1;h2:2?master_name=main", behind(master="main")),
        ("sentinel://h1:1,h2:2?db=5", behind(database=5)),
        ("sentinel://h1", behind(nodes=(("h1", 26379),))),
        ("sentinel://[::1]:1,[::2]", behind(nodes=(("::1", 1), ("::2", 26379)))),
    ],
)
def test_every_form_is_read(url: str, expected: RedisAddress) -> None:
    assert read_redis_url(url) == expected


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("localhost:6379", "must begin with"),
        ("http://secret@h", "must begin with"),
        ("redis://:se#cret@h", "%23"),
        ("redis://:secret/x@h:1/0", "%2F"),
        ("redis://:secret?x@h:1/0", "%3F"),
        ("redis://:secret[@h:1/0", "percent-encoded"),
        ("redis://:secret@h:99999/0", "65535"),
        ("redis://:secret@h:secret/0", "65535"),
        ("redis://:secret@h\u2100.example/0", "cannot be read"),
        ("redis://:secret@h/first", "number"),
        ("redis://:secret @h/0", "space"),
        ("redis://:secret\u200b@h/0", "invisible"),
        ("redis://:secret@h?ssl_cert_reqs=none", "rediss://"),
        ("redis://:secret@h?ssl=true", "rediss://"),
        ("unix://:secret@/s?ssl_cert_reqs=none", "rediss://"),
        ("rediss://:secret@h?ssl_cert_reqs=maybe", "one of"),
        ("rediss://:secret@h?ssl_min_version=SSLv3", "one of"),
        ("rediss://:secret@h?ssl_trust=all", "ssl_trust"),
        ("rediss://:secret@h?ssl_ca_certs=/no/such/file", "does not exist"),
        ("unix://:secret@", "names no socket"),
        ("unix://:secret@host/s", "names no socket"),
        ("sentinel://", "names no sentinel"),
        ("sentinel://:secret@h:port/main", "port"),
        ("sentinel://:sec;ret@h/main", "%3B"),
    ],
)
def test_what_cannot_be_used_is_told_without_its_secret(url: str, word: str) -> None:
    with pytest.raises(RedisUrlInvalid) as caught:
        read_redis_url(url)

    assert word in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None  # urllib's own words would repeat the address


def test_files_of_tls_are_taken_as_they_stand(tmp_path: Path) -> None:
    authority = tmp_path / "an authority.pem"
    authority.write_text("")

    address = read_redis_url(f"rediss://h?ssl_ca_certs={str(authority).replace(' ', '%20')}")

    assert address.connection_options["ssl_ca_certs"] == str(authority)


def test_what_is_ignored_or_dangerous_is_remarked() -> None:
    address = read_redis_url("rediss://h?ssl_cert_reqs=none&socket_timeout=99&family=0")

    assert [word for remark in address.remarks for word in ("socket_timeout", "family", "none") if word in remark] == [
        "socket_timeout",
        "family",
        "none",
    ]
    assert not {"socket_timeout", "family"} & address.connection_options.keys()


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("redis://anna:secret@h:7/3", "redis://h:7/3"),
        ("rediss://:secret@[::1]:7/3", "rediss://[::1]:7/3?ssl_cert_reqs=required"),
        ("unix://:secret@/run/a%20b.sock?db=2", "redis+socket:///run/a%20b.sock?virtual_host=2"),
        ("sentinel://:secret@h1:1,h2:2/main/3", "sentinel://h1:1/3;sentinel://h2:2/3"),
        ("rediss+sentinel://:secret@h1:1/main", "sentinel://h1:1/0?ssl_cert_reqs=required"),
    ],
)
def test_what_is_shown_holds_no_login(url: str, public: str) -> None:
    address = read_redis_url(url)

    assert address.public_url == public
    assert "secret" not in repr(address)


@pytest.mark.parametrize("url", ["amqp://h", "", "redis", "memory://"])
def test_other_addresses_are_told_apart(url: str) -> None:
    assert not is_redis_url(url)
