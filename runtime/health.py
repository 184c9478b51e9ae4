"""How the house is doing, by heartbeats and by the age of what is open: one truth for every door that asks."""

import asyncio
from typing import Any

from runtime.redis import store_error
from runtime.scripts import Scripts
from runtime.settings import Settings

ALIVE_SECONDS = 30  # a process that was not heard of for this long counts as dead
HEARTBEAT_SECONDS = 5
GRACE_SECONDS = 30
_LOOKED_AT = 500


def overdue_after_seconds(settings: Settings) -> float:
    """A message open and not deferred for longer than this is an incident by itself."""
    config = settings.config
    return config.debounce.max_wait_seconds + config.turn.budget_seconds + GRACE_SECONDS


class SystemHealth:
    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        self._overdue_ms = round(overdue_after_seconds(settings) * 1000)

    async def beat(self, process: str, instance: str) -> None:
        """Say that this process is alive; its name is what /health/system looks for."""
        await self._scripts.run("beat", process, instance, ALIVE_SECONDS * 1000)

    async def writable(self) -> bool:
        try:
            async with asyncio.timeout(1):
                await self._scripts.command("SET", "ns:probe", "1", "PX", 60_000)
        except TimeoutError as exc:
            raise store_error(exc) from exc
        return True

    async def report(self) -> dict[str, Any]:
        """The answer of /health/system."""
        seen = await self._look()
        dispatcher, workers, beat = (
            sum(1 for m in seen["alive"] if m.startswith(p)) for p in ("dispatcher ", "worker ", "beat ")
        )
        return {
            "ok": bool(dispatcher and workers and not seen["overdue"]),
            "redis": True,
            "dispatcher": bool(dispatcher),
            "workers": workers,
            "beat": bool(beat),
            "open": seen["open"],
            "oldest_open_seconds": seen["oldest_open_seconds"],
        }

    async def metrics(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """Gauges and counters for Prometheus, by metric name and labels."""
        seen = await self._look()
        _, counts, _, _, events = await self._scripts.run("sums", 0)
        outcomes = dict(zip(counts[::2], counts[1::2], strict=True))
        kinds = dict(zip(events[::2], events[1::2], strict=True))
        return {
            "nightshift_messages_total": {(("outcome", name),): float(n) for name, n in outcomes.items()},
            "nightshift_events_total": {(("kind", name),): float(n) for name, n in kinds.items()},
            "nightshift_open_messages": {(): float(seen["open"])},
            "nightshift_oldest_open_seconds": {(): float(seen["oldest_open_seconds"])},
            "nightshift_overdue_messages": {(): float(seen["overdue"])},
            "nightshift_due_conversations": {(): float(seen["due"])},
            "nightshift_handed_out_conversations": {(): float(seen["handed"])},
            "nightshift_alerts_waiting": {(): float(seen["alerts"])},
            "nightshift_processes": {
                (("process", name),): float(sum(1 for m in seen["alive"] if m.startswith(f"{name} ")))
                for name in ("dispatcher", "worker", "beat")
            },
        }

    async def _look(self) -> dict[str, Any]:
        now, alive, open_count, oldest, overdue, due, handed, alerts = await self._scripts.run(
            "health", ALIVE_SECONDS * 1000, self._overdue_ms, _LOOKED_AT
        )
        age = (now - float(oldest)) / 1000 if float(oldest) else 0.0
        return {
            "alive": alive,
            "open": open_count,
            "oldest_open_seconds": round(max(age, 0.0), 1),
            "overdue": overdue,
            "due": due,
            "handed": handed,
            "alerts": alerts,
        }
