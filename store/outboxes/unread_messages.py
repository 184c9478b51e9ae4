"""The small outbox of messages that Meta has told of without their words: noted by receive.lua, read by a worker."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from bot.alerts.alert import Alert
from bot.incoming.events import Channel
from runtime.logging import get_logger
from store.keys import LEDGER
from store.outboxes.alerts import packed
from store.scripts import Scripts

log = get_logger(__name__)

LEASE_SECONDS = 30.0  # a worker that has not reported by then is gone
_LOOK_BACK_MS = 60_000  # so much earlier than its sign a message may have come by itself
_MOST_LOOKED_AT = 2000  # entries of the ledger


@dataclass(frozen=True, slots=True)
class Unread:
    """One message, and how often Meta was asked for it in vain. `key` is that of the message itself."""

    key: str
    channel: Channel
    account_id: str
    mid: str
    at_ms: int
    failures: int = 0


class UnreadMessages:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def take(self, limit: int) -> list[Unread]:
        """What is due, for this worker alone until `LEASE_SECONDS` are over."""
        flat = await self._scripts.run("take_unread", round(LEASE_SECONDS * 1000), limit)
        found: list[Unread] = []
        for key, body in zip(map(str, flat[::2]), flat[1::2], strict=True):
            try:
                found.append(_read(key, orjson.loads(body)))
            except (ValueError, KeyError, TypeError):  # another version's line: it must not hold up the others
                log.exception("unread_message_broken", key=key)
                await self._scripts.run("settle_unread", key, "broken")
        return found

    async def came_by_itself(self, unread: Unread) -> bool:
        """True when the ledger has it among its newest lines: Meta need not be asked."""
        since = max(unread.at_ms - _LOOK_BACK_MS, 0)
        lines = await self._scripts.command("XREVRANGE", LEDGER, "+", since, "COUNT", _MOST_LOOKED_AT)
        return any(fields["m"] == unread.key for _, fields in lines)

    async def again(self, unread: Unread, seconds: float, *, failed: bool) -> None:
        tried = replace(unread, failures=unread.failures + 1) if failed else unread
        await self._scripts.run("settle_unread", unread.key, "again", round(seconds * 1000), _write(tried))

    async def settled(self, unread: Unread, word: str) -> None:
        """ "read", "known", "old" or "foreign": it is counted as that, and forgotten."""
        await self._scripts.run("settle_unread", unread.key, word)

    async def unreadable(self, unread: Unread) -> None:
        """Given up, and the managers are told in the same script."""
        alert_id, alert = unread_alert(unread.channel.value, unread.account_id, now_ms=self._scripts.clock.now_ms())
        await self._scripts.run("settle_unread", unread.key, "unreadable", alert_id, packed(alert))


def unread_alert(channel: str, account_id: str, *, now_ms: int) -> tuple[str, Alert]:
    """One alert for an account: a customer has written, and only a human in Meta's own inbox can see what."""
    return f"unread:{channel}:{account_id}", Alert(
        "unread_messages", channel=channel, account=account_id, first_at=now_ms
    )


def _write(unread: Unread) -> str:
    record = {
        "channel": unread.channel.value,
        "account": unread.account_id,
        "mid": unread.mid,
        "at": unread.at_ms,
        "failures": unread.failures,
    }
    return orjson.dumps(record).decode()


def _read(key: str, record: Mapping[str, Any]) -> Unread:
    channel, failures = Channel(record["channel"]), int(record.get("failures", 0))
    return Unread(key, channel, record["account"], record["mid"], int(record["at"]), failures)
