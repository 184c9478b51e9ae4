"""How the house is doing, by heartbeats and by the age of what is open: one truth for every door that asks."""

import asyncio
from dataclasses import dataclass
from typing import Any

from runtime.settings import Settings
from store.connection import store_error
from store.failure_counts import FAILED_EVENT
from store.limits import ALIVE_SECONDS
from store.schedule import REDO_SECONDS
from store.scripts import Scripts
from store.telemetry import model_metrics

HEARTBEAT_SECONDS = 5
GRACE_SECONDS = 30
DEAF, UNREADABLE = "deaf", "unreadable_webhooks"
"""Incidents of the receivers: nothing is signed with a secret of ours; nothing that is signed makes sense."""

_PAGE = 500
_MOST_PAGES = 40  # overdue messages are counted up to a number; deferred ones are passed over


@dataclass(frozen=True, slots=True)
class View:
    """One look at the house. `alive` holds "process host:pid" of everybody who was heard of lately."""

    alive: tuple[str, ...]
    open: int
    oldest_open_seconds: float
    overdue: int
    overdue_since_ms: int  # from when the longest overdue one counts (deferrals do not); 0 when there is none
    due: int
    handed: int
    alerts: int
    incidents: tuple[str, ...] = ()  # the rules of those that are open (store/outboxes/system_incidents.py)

    def count(self, process: str) -> int:
        return sum(1 for member in self.alive if member.startswith(f"{process} "))

    @property
    def ok(self) -> bool:
        """Meta is heard, a dispatcher hands out, a worker answers, no customer waits for too long; beat may be away."""
        is_deaf = DEAF in self.incidents or UNREADABLE in self.incidents
        return bool(self.count("dispatcher") and self.count("worker") and not self.overdue and not is_deaf)


def overdue_after_seconds(settings: Settings) -> float:
    """A message open and not deferred for longer than this is an incident by itself."""
    config = settings.config
    return config.debounce.max_wait_seconds + config.turn.budget_seconds + GRACE_SECONDS


class SystemHealth:
    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        self._overdue_ms = round(overdue_after_seconds(settings) * 1000)
        self._accounts = [f"{account.channel.value} {account.id}" for account in settings.config.accounts]

    async def beat(self, process: str, instance: str) -> None:
        """Say that this process is alive, and which accounts it has; its name is what /health/system looks for."""
        now_ms = await self._scripts.run("beat", process, instance, ALIVE_SECONDS * 1000, *self._accounts)
        self._scripts.clock.tells(int(now_ms))

    async def writable(self) -> bool:
        """Runs what a POST runs, with no event in it: the script's own language and rights count as well as room, and
        the replicas where they are asked for. Raise `StoreUnavailable` when a POST would not be acknowledged."""
        try:
            async with asyncio.timeout(1):
                await self._scripts.run_confirmed("receive", 0, 0, "{}")
        except TimeoutError as exc:
            raise store_error(exc) from exc
        return True

    async def look(self) -> View:
        overdue, longest, offset = 0, 0, 0
        for _ in range(_MOST_PAGES):
            now, alive, opened, oldest, more, since, offset, due, handed, alerts, incidents = await self._scripts.run(
                "health", ALIVE_SECONDS * 1000, self._overdue_ms, offset, _PAGE
            )
            self._scripts.clock.tells(int(now))
            overdue += more
            if int(since):
                longest = min(longest or int(since), int(since))
            if not offset:
                break
        age = (now - float(oldest)) / 1000 if float(oldest) else 0.0
        return View(
            alive=tuple(alive),
            open=opened,
            oldest_open_seconds=round(max(age, 0.0), 1),
            overdue=overdue,
            overdue_since_ms=longest,
            due=due,
            handed=handed,
            alerts=alerts,
            incidents=tuple(incidents),
        )

    async def report(self) -> dict[str, Any]:
        """The answer of /health/system."""
        view = await self.look()
        return {
            "ok": view.ok,
            "redis": True,
            "dispatcher": bool(view.count("dispatcher")),
            "workers": view.count("worker"),
            "beat": bool(view.count("beat")),
            "open": view.open,
            "oldest_open_seconds": view.oldest_open_seconds,
        }

    async def handed_out(self) -> frozenset[str]:
        """Conversations whose poke was published a moment ago and that no worker has claimed.

        Those that no dispatcher pokes any more are not among them: that is the dispatcher's fault.
        """
        return frozenset(await self._scripts.run("handed_out", round(REDO_SECONDS * 1500)))

    async def metrics(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """Gauges and counters for Prometheus, by metric name and labels."""
        view = await self.look()
        _, counts, _, _, events = await self._scripts.run("sums", 0)
        outcomes = dict(zip(counts[::2], counts[1::2], strict=True))
        kinds = dict(zip(events[::2], events[1::2], strict=True))
        return {
            **await model_metrics(self._scripts),
            "nightshift_messages_total": {(("outcome", name),): float(n) for name, n in outcomes.items()},
            "nightshift_events_total": {
                (("kind", name),): float(n) for name, n in kinds.items() if not name.startswith(FAILED_EVENT)
            },
            "nightshift_background_failures_total": {
                (("job", name.removeprefix(FAILED_EVENT)),): float(n)
                for name, n in kinds.items()
                if name.startswith(FAILED_EVENT)
            },
            "nightshift_reconciled_messages_total": {(): float(kinds.get("found_by_reconcile", 0))},
            "nightshift_open_messages": {(): float(view.open)},
            "nightshift_oldest_open_seconds": {(): view.oldest_open_seconds},
            "nightshift_overdue_messages": {(): float(view.overdue)},
            "nightshift_due_conversations": {(): float(view.due)},
            "nightshift_handed_out_conversations": {(): float(view.handed)},
            "nightshift_alerts_waiting": {(): float(view.alerts)},
            "nightshift_open_incidents": {(("rule", rule),): 1.0 for rule in sorted(view.incidents)},
            "nightshift_processes": {
                (("process", name),): float(view.count(name)) for name in ("dispatcher", "worker", "beat")
            },
        }
