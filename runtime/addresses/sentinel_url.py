"""Takes an address behind Sentinel apart, which is written in more ways than one."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

DEFAULT_PORT = 26379


class RedisUrlInvalid(ValueError):
    """The address cannot be used; the message says what is wrong with it, and holds nothing of it that is secret."""


@dataclass(frozen=True, slots=True)
class Sentinels:
    """`nodes` are the sentinels; `master` is the name they know the primary by. `login` and `query` are as written."""

    nodes: tuple[tuple[str, int], ...]
    master: str
    database: int | None
    login: str
    query: str


def read_sentinels(url: str, scheme: str) -> Sentinels:
    """Raise `RedisUrlInvalid`, or urllib's ValueError.

    `sentinel://[user:password@]host:port,host:port/MASTER/DB`, with `;` between nodes just as well (each may repeat the
    scheme, the login and the database). Without a name it is "mymaster".
    """
    head, separator, rest = url.partition("://")
    joined = rest.replace(f";{head}://", ",").replace(f";{scheme}://", ",").replace(";", ",")
    parts = urlsplit(f"{scheme}{separator}{joined}")
    if ";" in rest.partition("@")[0] and "@" in rest:
        raise RedisUrlInvalid("a ; in the password must be written as %3B")
    repeated = parts.netloc.count("@") > 1
    login = parts.netloc.partition("@")[0] if repeated else parts.netloc.rpartition("@")[0]
    hosts = parts.netloc if repeated else parts.netloc.rpartition("@")[2]
    nodes = [_node(node) for node in hosts.split(",") if node]
    # Every node may repeat the database: the last path is the one that is left.
    extra = []
    for piece in (piece for piece in parts.path.split("/") if piece):
        piece_head, _, more = piece.partition(",")
        extra.append(piece_head)
        nodes += [_node(node) for node in more.split(",") if node]
    if not nodes:
        raise RedisUrlInvalid("names no sentinel; write sentinel://host:26379,host:26379/mymaster/0")
    names = [unquote(piece) for piece in extra if not piece.isdigit()]
    databases = [int(piece) for piece in extra if piece.isdigit()]
    return Sentinels(
        nodes=tuple(nodes),
        master=names[0] if names else "mymaster",
        database=databases[0] if databases else None,
        login=login,
        query=parts.query,
    )


def _node(text: str) -> tuple[str, int]:
    place = text.rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]"):
        return place.strip("[]"), DEFAULT_PORT
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise RedisUrlInvalid("the port of a sentinel is no number up to 65535")
    return host.strip("[]"), int(port)
