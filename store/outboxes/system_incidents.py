"""Incidents of the house itself: one state for all who watch, raised in the durable outbox, told by who is alive."""

from collections.abc import Iterable
from dataclasses import replace

from bot.alerts.alert import Alert
from store.keys import telling_key
from store.outboxes.alerts import AlertOutbox, WaitingAlert, packed
from store.scripts import Scripts


class SystemIncidents:
    def __init__(self, scripts: Scripts, outbox: AlertOutbox) -> None:
        self._scripts = scripts
        self._outbox = outbox

    async def broke(self, alert: Alert, *, now_ms: int) -> bool:
        """True for the one watcher that was first to say so; the alert is in the outbox then."""
        dated = replace(alert, first_at=now_ms, raised_at=now_ms)
        return bool(await self._scripts.run("system_incident", alert.rule, "1", packed(dated), now_ms, 0))

    async def is_well(self, rule: str, *, now_ms: int, steady_seconds: float) -> bool:
        """True for the one watcher that ends an incident, which no watcher has seen for `steady_seconds`."""
        alert = Alert(rule, recovered=True, raised_at=now_ms, over_at=now_ms)
        steady_ms = round(steady_seconds * 1000)
        return bool(await self._scripts.run("system_incident", rule, "", packed(alert), now_ms, steady_ms))

    async def untold(self, rules: Iterable[str]) -> list[WaitingAlert]:
        """Alerts about `rules` that no manager has seen yet, the older one first."""
        ids = [alert_id for rule in rules for alert_id in (f"system:{rule}", f"system:{rule}:recovered")]
        found = [await self._outbox.load(alert_id) for alert_id in ids]
        waiting = [one for one in found if one is not None and not one.is_delivered]
        return sorted(waiting, key=lambda one: one.alert.raised_at)

    async def may_tell(self, alert_id: str, *, for_seconds: float) -> bool:
        """True for one watcher at a time; should it fail or die, another may try after `for_seconds`."""
        lock = telling_key(alert_id)
        return await self._scripts.command("SET", lock, "1", "NX", "PX", round(for_seconds * 1000)) is not None

    async def told(self, waiting: WaitingAlert, message_id: str) -> None:
        """The managers have it: the worker need not deliver it again."""
        await self._outbox.delivered(waiting, message_id)
        await self._scripts.command("DEL", telling_key(waiting.id))
