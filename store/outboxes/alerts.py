"""The durable alert outbox: an incident is in Redis before anybody tries to tell a manager."""

from collections.abc import Mapping
from typing import Any

import orjson

from store.keys import ALERTS
from store.scripts import Scripts

GIVE_UP_SECONDS = 24 * 3600.0  # of failures: whoever could be helped by it has lost the messaging window by then
LINGER_SECONDS = 600.0  # within this time the same incident updates its message instead of sending another


class AlertOutbox:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def raise_alert(self, alert_id: str, body: Mapping[str, Any], *, conversation_id: str = "") -> None:
        await self._scripts.run("raise_alert", conversation_id, alert_id, orjson.dumps(dict(body)).decode())

    async def load(self, alert_id: str) -> dict[str, Any] | None:
        raw = await self._scripts.command("HGET", ALERTS, alert_id)
        if raw is None:
            return None
        body: dict[str, Any] = orjson.loads(raw)
        return body

    async def delivered(self, alert_id: str, *, shown: int, message_id: str) -> str:
        """It reached the managers; should it have changed meanwhile, it is due again at once."""
        return str(await self._scripts.run("settle_alert", alert_id, shown, message_id, LINGER_SECONDS * 1000, 0))

    async def failed(self, alert_id: str, *, shown: int, tries: int, again_in_seconds: float) -> str:
        """Telegram did not take it. "given_up" when it has not for a day: it is forgotten, and counted as that."""
        wait, most = round(again_in_seconds * 1000), round(GIVE_UP_SECONDS * 1000)
        return str(await self._scripts.run("settle_alert", alert_id, shown, "", wait, tries, most))

    async def kept(self, alert_id: str, *, shown: int, tries: int, again_in_seconds: float) -> None:
        """Nobody is there to deliver it to: it stays, until it is among too many (include/alerts.lua, make_room)."""
        await self._scripts.run("settle_alert", alert_id, shown, "", round(again_in_seconds * 1000), tries, 0)

    async def close(self, alert_id: str, *, shown: int) -> bool:
        return bool(await self._scripts.run("close_alert", alert_id, shown))

    async def waiting(self) -> list[tuple[str, dict[str, Any]]]:
        rows = await self._scripts.command("HGETALL", ALERTS)
        return [(alert_id, orjson.loads(body)) for alert_id, body in dict(rows).items()]
