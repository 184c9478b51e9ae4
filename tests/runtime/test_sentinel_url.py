import pytest

from runtime.sentinel_url import SentinelAddress, parse_sentinel_url


def address(**more: object) -> SentinelAddress:
    values: dict[str, object] = {
        "nodes": (("h1", 1), ("h2", 2)),
        "master": "mymaster",
        "database": 0,
        "username": "",
        "password": "",
        "tls": False,
        **more,
    }
    return SentinelAddress(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sentinel://h1:1,h2:2/main/3", address(master="main", database=3)),
        ("redis+sentinel://user:p%40ss@h1:1,h2:2/main", address(master="main", username="user", password="p@ss")),
        ("rediss+sentinel://:pw@h1:1,h2:2/main/0", address(master="main", password="pw", tls=True)),
        ("sentinel://h1:1/2;sentinel://h2:2/2", address(database=2)),
        ("sentinel://h1:1;h2:2?master_name=main", address(master="main")),
        ("sentinel://h1", address(nodes=(("h1", 26379),))),
    ],
)
def test_every_way_to_write_it_is_read(url: str, expected: SentinelAddress) -> None:
    assert parse_sentinel_url(url) == expected


@pytest.mark.parametrize("url", ["redis://h:1/0", "rediss://h:1/0", "unix:///tmp/x", ""])
def test_other_addresses_are_left_alone(url: str) -> None:
    assert parse_sentinel_url(url) is None


def test_celery_gets_its_own_form() -> None:
    assert address(password="p@ss", database=3).for_celery() == "sentinel://:p%40ss@h1:1/3;sentinel://:p%40ss@h2:2/3"
