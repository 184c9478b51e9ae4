"""The durable alert outbox: an alert is in Redis before a worker tries to tell a manager."""

from dataclasses import dataclass
from typing import Any, Self

import orjson

from bot.alerts.alert import Alert, read_alert, text, whole
from runtime.logging import get_logger
from store.keys import ALERTS
from store.scripts import Scripts

log = get_logger(__name__)

GIVE_UP_SECONDS = 24 * 3600.0  # of failures: the customer it is about has left the messaging window by then
LINGER_SECONDS = 600.0  # within this time the same incident updates its message instead of sending another

_FIGURES = frozenset(("count", "tries", "delivered", "failing_at", "failing_since"))


@dataclass(frozen=True, slots=True)
class WaitingAlert:
    """An alert in the outbox, and how far its delivery is. `message_id` is Telegram's, "" before the first delivery.

    `delivered` and `failing_at` are counts of the alert: of its words that managers have, and that could not be sent.
    """

    id: str
    alert: Alert
    message_id: str = ""
    delivered: int = 0
    tries: int = 0
    failing_at: int = 0

    @property
    def is_delivered(self) -> bool:
        return self.delivered == self.alert.count

    @classmethod
    def of(cls, alert_id: str, body: dict[str, Any]) -> Self:
        return cls(
            alert_id,
            read_alert(body),
            message_id=text(body.get("message_id")),
            delivered=whole(body.get("delivered")),
            tries=max(whole(body.get("tries")), 0),
            failing_at=whole(body.get("failing_at")),
        )


class AlertOutbox:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def raise_alert(self, alert_id: str, alert: Alert, *, conversation_id: str = "") -> None:
        """One that is still in the outbox under this id is counted up, and takes the newer words."""
        await self._scripts.run("raise_alert", conversation_id, alert_id, packed(alert))

    async def load(self, alert_id: str) -> WaitingAlert | None:
        raw = await self._scripts.command("HGET", ALERTS, alert_id)
        return None if raw is None else await self._read(alert_id, raw)

    async def delivered(self, waiting: WaitingAlert, message_id: str) -> str:
        """It reached the managers; should it have changed meanwhile, it is due again at once."""
        shown, lingers_ms = waiting.alert.count, LINGER_SECONDS * 1000
        return str(await self._scripts.run("settle_alert", waiting.id, shown, message_id, lingers_ms, 0))

    async def failed(self, waiting: WaitingAlert, *, again_in_seconds: float) -> str:
        """Telegram did not take it. "given_up" when it has not for a day: it is forgotten, and counted as that."""
        return await self._wait(waiting, again_in_seconds, most_ms=round(GIVE_UP_SECONDS * 1000))

    async def kept(self, waiting: WaitingAlert, *, again_in_seconds: float) -> None:
        """Without Telegram it stays, until it is among too many (include/alerts.lua, make_room)."""
        await self._wait(waiting, again_in_seconds, most_ms=0)

    async def close(self, alert_id: str, *, shown: int) -> bool:
        """Forget what is delivered and has not changed since; True when it is forgotten."""
        return bool(await self._scripts.run("close_alert", alert_id, shown))

    async def waiting(self) -> list[WaitingAlert]:
        rows = dict(await self._scripts.command("HGETALL", ALERTS))
        return [await self._read(str(alert_id), raw) for alert_id, raw in rows.items()]

    async def _wait(self, waiting: WaitingAlert, seconds: float, *, most_ms: int) -> str:
        shown, tries, wait_ms = waiting.alert.count, waiting.tries + 1, round(seconds * 1000)
        return str(await self._scripts.run("settle_alert", waiting.id, shown, "", wait_ms, tries, most_ms))

    async def _read(self, alert_id: str, raw: str) -> WaitingAlert:
        """What the scripts would fail to count up or to settle is mended first, or it could never be delivered."""
        body = _object(raw)
        sound = Alert("alert_damaged", detail=alert_id).body() if body is None else _sound(body)
        if body != sound:
            log.error("alert_damaged", alert=alert_id)
            await self._scripts.command("HSET", ALERTS, alert_id, orjson.dumps(sound).decode())
        return WaitingAlert.of(alert_id, sound)


def packed(alert: Alert) -> str:
    """The JSON that the scripts keep."""
    return orjson.dumps(alert.body()).decode()


def _object(raw: str) -> dict[str, Any] | None:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def _sound(body: dict[str, Any]) -> dict[str, Any]:
    """The same with figures that Lua can add to."""
    kept = {name: value for name, value in body.items() if name not in _FIGURES or type(value) in (int, float)}
    return kept if whole(kept.get("count")) >= 1 else {**kept, "count": 1}
