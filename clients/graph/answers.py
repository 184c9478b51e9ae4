"""What Meta's answers hold, as values: read back messages, profiles, rows of a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """One message as Meta keeps it; `created_at_ms` is exact to the second only."""

    id: str
    from_id: str
    to_ids: tuple[str, ...]
    text: str
    created_at_ms: int


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


def read_message(row: Mapping[str, Any]) -> ReadMessage | None:
    sender = row.get("from")
    mid = text_of(row.get("id"))
    if not mid or not isinstance(sender, Mapping):
        return None
    return ReadMessage(
        id=mid,
        from_id=text_of(sender.get("id")),
        to_ids=tuple(text_of(person.get("id")) for person in rows_of(row.get("to"))),
        text=text_of(row.get("message")),
        created_at_ms=milliseconds(row.get("created_time")),
    )


def milliseconds(value: object) -> int:
    """ISO 8601 in practice, Unix seconds by the documentation; 0 when it is neither."""
    if isinstance(value, int | float):
        return int(value * 1000)
    try:
        moment = datetime.fromisoformat(text_of(value))
    except ValueError:
        return 0
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def rows_of(value: object) -> list[Mapping[str, Any]]:
    data = value.get("data") if isinstance(value, Mapping) else None
    return [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []


def text_of(value: object) -> str:
    """Ids come as strings, in places as numbers; null is nothing."""
    return str(value) if isinstance(value, str | int) else ""
