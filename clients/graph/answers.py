"""What Meta's answers hold, as values: profiles, what was sent, rows of a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Profile:
    """Who writes, as far as Meta tells; either may be empty."""

    name: str = ""
    username: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """Meta has taken it. `mid` is its message id, which its echo carries, too; "" for a reaction, which has none.

    `usage_percent`: how full the account's tightest allowance is now, 0 where Meta does not tell.
    """

    mid: str
    usage_percent: float = 0.0


@dataclass(frozen=True, slots=True)
class PrivateReply:
    """`customer_id` is the author's id in conversations, "" when Meta does not tell."""

    mid: str
    customer_id: str


def rows_of(value: object) -> list[Mapping[str, Any]]:
    data = value.get("data") if isinstance(value, Mapping) else None
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []


def text_of(value: object) -> str:
    """Ids come as strings, in places as numbers; null is nothing."""
    return str(value) if isinstance(value, str | int) else ""
