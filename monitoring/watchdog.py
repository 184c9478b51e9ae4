"""Watches the neighbours: the dispatcher watches the workers; the receiver watches the dispatcher, Redis, and whether
Meta is heard.

What is wrong is raised in the durable outbox, which a worker delivers. Since the worker may be what is wrong, an alert
that no worker delivers is told from here. The state is kept in Redis, so that any number of watchers says a thing once.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial

from bot.alerts.alert import Alert
from bot.errors import NightshiftError
from monitoring.check_in import CheckIn
from monitoring.deafness import Hearing
from monitoring.direct_alerts import DirectAlerts
from monitoring.store_requirements import EVERY_RULE as STORE_RULES
from monitoring.store_requirements import StoreRequirements
from monitoring.store_watch import StoreWatch
from runtime.background import Count, repeat
from runtime.clock import monotonic
from runtime.logging import get_logger
from runtime.settings import Settings
from store.connection import StoreUnavailable, connect
from store.failure_counts import count_in
from store.health import DEAF, UNREADABLE, SystemHealth, View
from store.outboxes.alerts import AlertOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.scripts import Scripts
from store.server.checks import check_store

log = get_logger(__name__)

PERIOD_SECONDS = 5.0
LOOK_SECONDS = 60.0  # the longest that one look takes: telling by Telegram is part of it
GRACE_SECONDS = 60.0  # after a start, or an outage of Redis, no process has had the time to be heard of
STEADY_SECONDS = 30.0  # it is well again when no watcher has seen it broken for so long
DELIVERY_SECONDS = 60.0  # longer than that an alert does not wait for a worker, alive as that may seem
TELL_AGAIN_SECONDS = 30.0
UNCONFIGURED_SECONDS = 3600.0

NO_WORKER, NO_DISPATCHER, OVERDUE = "no_worker", "no_dispatcher", "overdue"
_EVERY_RULE = (NO_WORKER, NO_DISPATCHER, OVERDUE, DEAF, UNREADABLE, *STORE_RULES)

Judgement = Mapping[str, Alert | None]
"""What is known about each rule: None when it is well, else the alert to raise; absent: too early to say."""


def judge_workers(view: View, *, watched_seconds: float) -> Judgement:
    """The dispatcher's question: does a worker answer, and in time? Overdue messages know no grace."""
    alive = _judge_alive(NO_WORKER, alive=view.count("worker") > 0, watched_seconds=watched_seconds)
    overdue = Alert(OVERDUE, detail=str(view.overdue), waiting_since=view.overdue_since_ms) if view.overdue else None
    return {**alive, OVERDUE: overdue}


def judge_dispatcher(view: View, *, watched_seconds: float) -> Judgement:
    """The receiver's question: does a dispatcher hand out what it stores?"""
    return _judge_alive(NO_DISPATCHER, alive=view.count("dispatcher") > 0, watched_seconds=watched_seconds)


def judge_receiver(hearing: Hearing, view: View, *, watched_seconds: float) -> Judgement:
    """The dispatcher, and whether anything of Meta's gets through."""
    return {**judge_dispatcher(view, watched_seconds=watched_seconds), **hearing.judge()}


def _judge_alive(rule: str, *, alive: bool, watched_seconds: float) -> Judgement:
    if alive:
        return {rule: None}
    return {rule: Alert(rule)} if watched_seconds >= GRACE_SECONDS else {}


class Watchdog:
    def __init__(
        self,
        judge: Callable[..., Judgement],
        *,
        health: SystemHealth,
        incidents: SystemIncidents,
        alerts: DirectAlerts,
        clock_ms: Callable[[], int],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._judge = judge
        self._health = health
        self._incidents = incidents
        self._alerts = alerts
        self._clock = clock
        self._clock_ms = clock_ms
        self._watching_since = clock()

    async def look(self) -> View | None:
        """One round; None when Redis could not be asked, and what was known by then counts for nothing."""
        try:
            view = await self._health.look()
            await self._remember(self._judge(view, watched_seconds=self._clock() - self._watching_since))
            await self._tell(view)
        except StoreUnavailable as exc:
            log.debug("watchdog_blind", reason=str(exc))
            self.lose_sight()
            return None
        return view

    def lose_sight(self) -> None:
        """Redis was away: afterwards no process has had the time to be heard of."""
        self._watching_since = self._clock()

    async def _remember(self, judgement: Judgement) -> None:
        now = self._clock_ms()
        for rule, broken in judgement.items():
            if broken is not None:
                if await self._incidents.broke(broken, now_ms=now):
                    log.error("system_broken", **broken.body())
            elif await self._incidents.is_well(rule, now_ms=now, steady_seconds=STEADY_SECONDS):
                log.info("system_recovered", rule=rule)

    async def _tell(self, view: View) -> None:
        now = self._clock_ms()
        is_delivering = view.count("dispatcher") > 0 and view.count("worker") > 0
        for waiting in await self._incidents.untold(_EVERY_RULE):
            alert = waiting.alert
            if is_delivering and now - alert.raised_at < DELIVERY_SECONDS * 1000:
                continue
            pause = TELL_AGAIN_SECONDS if self._alerts.configured else UNCONFIGURED_SECONDS
            if not await self._incidents.may_tell(waiting.id, for_seconds=pause):
                continue
            if not self._alerts.configured:
                log.error("alert_without_telegram", alert=waiting.id, rule=alert.rule, detail=alert.detail)
                continue
            try:
                message_id = await self._alerts.send(alert, now_ms=now)
            except NightshiftError as exc:
                log.error("alert_not_delivered", alert=waiting.id, error=type(exc).__name__, reason=str(exc))
                continue
            await self._incidents.told(waiting, message_id)


class ReceiverWatch:
    """Redis first, since without it nothing is known of the dispatcher."""

    def __init__(self, store: StoreWatch, watchdog: Watchdog, requirements: StoreRequirements | None = None) -> None:
        self._store = store
        self._watchdog = watchdog
        self._requirements = requirements

    async def look(self) -> None:
        if await self._store.look():
            await self._watchdog.look()
            if self._requirements is not None:
                await self._requirements.look()
        else:
            self._watchdog.lose_sight()


async def watch_workers(settings: Settings) -> None:
    """The dispatcher's watchdog, until it is cancelled; it also checks in with the service that waits outside."""
    async with AsyncExitStack() as stack:
        scripts, alerts = _open(stack, settings, "dispatcher-watchdog")
        watchdog = _watchdog(judge_workers, scripts, settings, alerts)
        check_in = CheckIn(settings)
        stack.push_async_callback(check_in.aclose)

        async def look() -> None:
            view = await watchdog.look()
            await check_in.maybe(ok=view is not None and view.ok)

        await _for_ever(look, count_in(scripts))


async def watch_receiver(settings: Settings, hearing: Hearing) -> None:
    """The receiver's watchdog, until it is cancelled: over the dispatcher, Redis, and whether Meta is heard."""
    async with AsyncExitStack() as stack:
        scripts, alerts = _open(stack, settings, "receiver-watchdog")
        watchdog = _watchdog(partial(judge_receiver, hearing), scripts, settings, alerts)
        store = StoreWatch(SystemHealth(scripts, settings), scripts, alerts, clock_ms=scripts.clock.now_ms)
        incidents = SystemIncidents(scripts, AlertOutbox(scripts))
        check = partial(check_store, settings, is_running=True)
        requirements = StoreRequirements(check, incidents, clock_ms=scripts.clock.now_ms)
        await _for_ever(ReceiverWatch(store, watchdog, requirements).look, count_in(scripts))


async def _for_ever(look: Callable[[], Awaitable[None]], count: Count) -> None:
    await repeat(
        "watchdog",
        look,
        every_seconds=PERIOD_SECONDS,
        limit_seconds=LOOK_SECONDS,
        longest_wait_seconds=PERIOD_SECONDS,
        count=count,
    )


def _open(stack: AsyncExitStack, settings: Settings, name: str) -> tuple[Scripts, DirectAlerts]:
    """A connection of its own: what it reports must not be that others keep theirs busy."""
    client = connect(settings.env.redis_url, max_connections=2, timeout_seconds=2, client_name=f"nightshift-{name}")
    stack.push_async_callback(client.aclose)
    alerts = DirectAlerts(settings)
    stack.push_async_callback(alerts.aclose)
    return Scripts(client, replicas=settings.config.store.replicas), alerts


def _watchdog(judge: Callable[..., Judgement], scripts: Scripts, settings: Settings, alerts: DirectAlerts) -> Watchdog:
    return Watchdog(
        judge,
        health=SystemHealth(scripts, settings),
        incidents=SystemIncidents(scripts, AlertOutbox(scripts)),
        alerts=alerts,
        clock_ms=scripts.clock.now_ms,
    )
