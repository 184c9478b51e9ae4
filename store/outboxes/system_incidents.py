"""Incidents of the house itself: one state for all who watch, raised in the durable outbox, told by who is alive."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from store.keys import telling_key
from store.outboxes.alerts import AlertOutbox
from store.scripts import Scripts


class SystemIncidents:
    def __init__(self, scripts: Scripts, outbox: AlertOutbox) -> None:
        self._scripts = scripts
        self._outbox = outbox

    async def broke(self, rule: str, facts: Mapping[str, Any], *, now_ms: int) -> bool:
        """True for the one watcher that was first to say so; the alert, with its `facts`, is in the outbox then."""
        body = {"rule": rule, "detail": "", "first_at": now_ms, "raised_at": now_ms, "count": 1, **facts}
        return await self._change(rule, "1", body, now_ms, 0)

    async def is_well(self, rule: str, *, now_ms: int, steady_seconds: float) -> bool:
        """True for the one watcher that ends an incident, which nobody has seen for `steady_seconds`."""
        body = {"rule": rule, "recovered": True, "detail": "", "raised_at": now_ms, "over_at": now_ms, "count": 1}
        return await self._change(rule, "", body, now_ms, steady_seconds)

    async def untold(self, rules: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
        """Alerts about `rules` that no manager has seen yet, the older one first."""
        ids = [alert_id for rule in rules for alert_id in (f"system:{rule}", f"system:{rule}:recovered")]
        found = [(alert_id, await self._outbox.load(alert_id)) for alert_id in ids]
        waiting = [(alert_id, body) for alert_id, body in found if body and body.get("delivered") != body.get("count")]
        return sorted(waiting, key=lambda one: int(one[1].get("raised_at", 0)))

    async def may_tell(self, alert_id: str, *, for_seconds: float) -> bool:
        """True for one watcher at a time; should it fail or die, another may try after `for_seconds`."""
        lock = telling_key(alert_id)
        return await self._scripts.command("SET", lock, "1", "NX", "PX", round(for_seconds * 1000)) is not None

    async def told(self, alert_id: str, body: Mapping[str, Any], message_id: str) -> None:
        """The managers have it: the worker need not deliver it again."""
        await self._outbox.delivered(alert_id, shown=int(body.get("count", 1)), message_id=message_id)
        await self._scripts.command("DEL", telling_key(alert_id))

    async def _change(
        self, rule: str, broken: str, body: Mapping[str, Any], now_ms: int, steady_seconds: float
    ) -> bool:
        alert, steady_ms = orjson.dumps(body).decode(), round(steady_seconds * 1000)
        return bool(await self._scripts.run("system_incident", rule, broken, alert, now_ms, steady_ms))
