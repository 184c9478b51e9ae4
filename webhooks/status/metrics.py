"""GET /metrics: the receiver's own counters, and what Redis knows of the whole system."""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from bot.errors import NightshiftError
from bot.incoming.events import CustomerMessage, Deletion, Echo, Edit, Event, PolicyEnforcement, ThreadControl
from runtime.logging import get_logger
from webhooks.guards.budget import Budget
from webhooks.guards.connections import Connections
from webhooks.status.health import Freshness
from webhooks.status.single_flight import SingleFlight

log = get_logger(__name__)

Labels = tuple[tuple[str, str], ...]

_LOOK_SECONDS = 2.0
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


class MetricsStore(Protocol):
    async def metrics(self) -> Mapping[str, Mapping[Labels, float]]:
        """Values by metric name and labels; a name that ends in `_total` is a counter."""
        ...


class ReceiverMetrics(Collector):
    """Counts POSTs by their answer and events by their kind, and measures how long an answer took.

    Plain numbers, which become Prometheus' families when Prometheus asks: its own counters cost a POST more than the
    signature does.
    """

    def __init__(self, connections: Connections, budget: Budget) -> None:
        self._connections = connections
        self._budget = budget
        self._posts: dict[str, int] = defaultdict(int)
        self._refused: dict[str, int] = defaultdict(int)
        self._events: dict[str, int] = defaultdict(int)
        self._within = [0] * (len(_BUCKETS) + 1)  # the last one: longer than every bucket
        self._seconds = 0.0

    def posted(self, status: str, seconds: float) -> None:
        self._posts[status] += 1
        self._within[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds += seconds

    def refused(self, reason: str) -> None:
        """`reason` is one of a few of our own."""
        self._refused[reason] += 1

    def translated(self, events: Iterable[Event]) -> None:
        for event in events:
            self._events[kind_of(event)] += 1

    def collect(self) -> Iterable[Metric]:
        posts = CounterMetricFamily("nightshift_webhook_posts_total", "Webhook POSTs by answer", labels=["status"])
        for status, count in self._posts.items():
            posts.add_metric([status], count)
        events = CounterMetricFamily("nightshift_webhook_events_total", "Webhook events by kind", labels=["kind"])
        for kind, count in self._events.items():
            events.add_metric([kind], count)
        bounds = [*map(str, _BUCKETS), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._within), strict=True))
        seconds = HistogramMetricFamily("nightshift_webhook_seconds", "Seconds from a POST to its answer")
        seconds.add_metric([], buckets=buckets, sum_value=self._seconds)
        refused = CounterMetricFamily("nightshift_webhook_refused_total", "Webhook POSTs not taken", labels=["reason"])
        for reason, count in self._refused.items():
            refused.add_metric([reason], count)
        return posts, refused, events, seconds, *self._strangers()

    def _strangers(self) -> Iterable[Metric]:
        """What it costs to be open to everybody."""
        return (
            GaugeMetricFamily("nightshift_open_connections", "Connections to the receiver", self._connections.open),
            GaugeMetricFamily("nightshift_most_connections", "More are not kept open", self._connections.most),
            CounterMetricFamily(
                "nightshift_dropped_connections_total", "Unfinished ones that made room", self._connections.dropped
            ),
            CounterMetricFamily(
                "nightshift_unsigned_cpu_seconds_total", "CPU spent on unsigned bodies", self._budget.spent_seconds
            ),
        )


def kind_of(event: Event) -> str:
    """The word an event is counted under; a closed set, since Meta's own words never become a label."""
    match event:
        case CustomerMessage():
            return event.kind.value
        case Echo():
            return "echo"
        case Edit():
            return "edit"
        case Deletion():
            return "deletion"
        case ThreadControl():
            return f"{event.kind}_thread_control"
        case PolicyEnforcement():
            return "policy_enforcement"
        case _:
            return event.kind


class MetricsEndpoint:
    def __init__(self, metrics: ReceiverMetrics, store: MetricsStore, freshness: Freshness) -> None:
        self._metrics = metrics
        self._store = store
        self._system = SingleFlight(
            self._look,
            fresh_seconds=lambda seen: freshness.system_seconds if seen is not None else freshness.unwell_seconds,
        )

    async def show(self, _request: Request) -> Response:
        """Never fails for want of Redis: the receiver's own numbers are wanted most when it is away."""
        seen = await self._system.get()
        families = [_redis_up(0)] if seen is None else [_redis_up(1), *(_family(*item) for item in seen.items())]
        registry = CollectorRegistry()
        registry.register(self._metrics)
        registry.register(_Snapshot(families))
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    async def _look(self) -> Mapping[str, Mapping[Labels, float]] | None:
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                return await self._store.metrics()
        except (NightshiftError, TimeoutError) as exc:
            log.warning("metrics_without_redis", error=type(exc).__name__)
            return None


class _Snapshot(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _redis_up(value: int) -> Metric:
    return GaugeMetricFamily("nightshift_redis_up", "1 when Redis answered the last look", value=value)


def _family(name: str, values: Mapping[Labels, float]) -> Metric:
    what = name.removeprefix("nightshift_").removesuffix("_total").replace("_", " ")
    names = [label for label, _ in next(iter(values), ())]
    family: CounterMetricFamily | GaugeMetricFamily
    if name.endswith("_total"):
        family = CounterMetricFamily(name, f"Of the whole system: {what}", labels=names)
    else:
        family = GaugeMetricFamily(name, f"Of the whole system: {what}", labels=names)
    for labels, value in values.items():
        family.add_metric([label_value for _, label_value in labels], value)
    return family
