"""Addresses of the web that may be given to a customer: well-formed, public, and known, never made up by a model."""

import ipaddress
from collections.abc import Iterable
from urllib.parse import quote, urlsplit, urlunsplit

import regex

MOST_BYTES = 600  # with its title one line must fit a message of Instagram

_IN_ADDRESS = r"[^\s<>\"'`«»“”|\\^{}\[\]]"
ADDRESS = regex.compile(rf"(?:https?://|(?<![\w.@/-])www\.){_IN_ADDRESS}+", regex.IGNORECASE)
_AT_THE_END = regex.compile(rf"(?:https?://|www\.){_IN_ADDRESS}*+\Z", regex.IGNORECASE)
_OF_ADDRESS = regex.compile(rf"{_IN_ADDRESS}++")
_TRAILING = ".,;:!?…*_~"
_LABEL = regex.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = regex.compile(r"\d+|0x[0-9a-f]*")
# Names that mean nothing outside a network, and those of the samples in prompts.
_PRIVATE_ENDS = frozenset(
    {"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "arpa", "invalid", "test"}
)
_SAMPLES = ("example.com", "example.org", "example.net")


def trimmed(written: str) -> str:
    """Without the stop or bracket of the sentence around it."""
    text = written.rstrip(_TRAILING)
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip(_TRAILING)
    return text


def public_address(written: str) -> str:
    """`written` in the one spelling that Meta takes, or "" where customers may not be sent there.

    Only http and https, without credentials, to a public host, in at most `MOST_BYTES`. What a name resolves to is
    not looked up: Meta fetches pictures, the customer opens links, and we do neither.
    """
    url = f"https://{written}" if written[:4].casefold() == "www." else written
    try:
        parts = urlsplit(url)
        host = _public_host(parts.hostname or "")
        port = parts.port
        path = quote(parts.path or "/", safe="/%:@!$&()*+,;=~-._'")
        query, fragment = (quote(piece, safe="/%:@!$&()*+,;=~-._?'") for piece in (parts.query, parts.fragment))
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or not host:
        return ""
    netloc = host if port is None else f"{host}:{port}"
    normal = urlunsplit((parts.scheme, netloc, path, query, fragment))
    return normal if len(normal) <= MOST_BYTES else ""


def addresses_in(texts: Iterable[str]) -> frozenset[str]:
    """Every public address that stands in `texts`, each as a whole: the beginning of one is another."""
    found = (match[0] for text in texts if "://" in text or "www." in text for match in ADDRESS.finditer(text))
    return frozenset(filter(None, (public_address(trimmed(written)) for written in found)))


def without_addresses(text: str) -> str:
    return str(ADDRESS.sub(" ", text)) if "://" in text or "www." in text else text


def beginning_of(text: str, most: int) -> str:
    """The first `most` characters, or fewer: what is left of an address would be another address."""
    kept = text[:most]
    cut = _AT_THE_END.search(kept) if _OF_ADDRESS.match(text, most) else None
    return kept[: cut.start()] if cut else kept


def end_of(text: str, most: int) -> str:
    """The last `most` characters, or fewer, for the same reason."""
    start = max(len(text) - most, 0)
    within = start > 0 and _OF_ADDRESS.match(text[start - 1]) and _OF_ADDRESS.match(text, start)
    rest = within.end() if within and addresses_in([within[0]]) else start
    return text[rest:]


def name_of_host(url: str) -> str:
    """What a link without a title is called."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def extension_of(url: str) -> str:
    """Of the file that it names, lower case with its dot; "" for none."""
    name = urlsplit(url).path.rpartition("/")[2]
    return f".{name.rpartition('.')[2].casefold()}" if "." in name else ""


def _public_host(written: str) -> str:
    """The host in ASCII, "" where it is no name or number of the open net. Raises ValueError for no name at all."""
    host = written.rstrip(".").lower().encode("idna").decode()
    labels = host.split(".")
    if _NUMERIC.fullmatch(labels[-1]) or ":" in host:
        number = ipaddress.ip_address(host)
        return host if number.is_global and not number.is_multicast and ":" not in host else ""
    if len(labels) < 2 or len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        return ""
    if labels[-1] in _PRIVATE_ENDS or ".".join(labels[-2:]) in _SAMPLES:
        return ""
    return host
