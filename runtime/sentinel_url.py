"""Reads an address behind Sentinel, which is written in more ways than one, and writes it as Celery wants it."""

from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

_SCHEMES = ("sentinel", "redis+sentinel", "rediss+sentinel")
DEFAULT_PORT = 26379


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """`nodes` are the sentinels; `master` is the name they know the primary by."""

    nodes: tuple[tuple[str, int], ...]
    master: str
    database: int
    username: str
    password: str
    tls: bool

    def for_celery(self) -> str:
        """kombu's own form: one sentinel:// address a node; the master's name is a transport option."""
        login = f"{quote(self.username)}:{quote(self.password)}@" if self.password else ""
        return ";".join(f"sentinel://{login}{host}:{port}/{self.database}" for host, port in self.nodes)


def parse_sentinel_url(url: str) -> SentinelAddress | None:
    """None when `url` is no Sentinel address.

    `sentinel://[user:password@]host:port,host:port/MASTER/DB`, with `;` between nodes just as well (each may repeat the
    scheme), and the name as `?master=`, `?master_name=` or `?service_name=`. Without a name it is "mymaster".
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in _SCHEMES:
        return None
    joined = url.replace(f";{scheme}://", ",").replace(";", ",")
    parts = urlsplit(joined)
    login, _, hosts = parts.netloc.rpartition("@")
    # Every node may repeat the database: the last path is the one that is left.
    path = [piece for piece in parts.path.split("/") if piece]
    nodes, extra = [], []
    for node in hosts.split(","):
        if node:
            host, _, port = node.rpartition(":")
            nodes.append((host or node, int(port) if host else DEFAULT_PORT))
    for piece in path:
        piece_head, _, rest = piece.partition(",")
        extra.append(piece_head)
        nodes += [_node(node) for node in rest.split(",") if node]
    query = parse_qs(parts.query)
    names = [query[key][0] for key in ("master", "master_name", "service_name") if key in query]
    names += [piece for piece in extra if not piece.isdigit()]
    databases = [int(piece) for piece in extra if piece.isdigit()] or [int(query.get("db", ["0"])[0])]
    username, _, password = login.partition(":")
    return SentinelAddress(
        nodes=tuple(nodes),
        master=unquote(names[0]) if names else "mymaster",
        database=databases[0],
        username=unquote(username),
        password=unquote(password),
        tls=scheme.startswith("rediss"),
    )


def _node(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition("@")[2].rpartition(":")
    return (host, int(port)) if host else (text, DEFAULT_PORT)
