"""GET /metrics: the receiver's own counters, and what Redis knows of the whole house."""

import asyncio
from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from bot.errors import NightshiftError
from bot.messages import CustomerMessage, Deletion, Echo, Edit, Event, PolicyEnforcement, ThreadControl
from runtime.logging import get_logger

log = get_logger(__name__)

Labels = tuple[tuple[str, str], ...]

_LOOK_SECONDS = 2.0
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


class MetricsStore(Protocol):
    async def metrics(self) -> Mapping[str, Mapping[Labels, float]]:
        """Values by metric name and labels; a name that ends in `_total` is a counter."""
        ...


class ReceiverMetrics:
    """Counts POSTs by their answer and events by their kind, and measures how long an answer took."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._posts = Counter(
            "nightshift_webhook_posts_total", "Webhook POSTs by answer", ["status"], registry=self.registry
        )
        self._events = Counter(
            "nightshift_webhook_events_total", "Webhook events by kind", ["kind"], registry=self.registry
        )
        self._seconds = Histogram(
            "nightshift_webhook_seconds", "Seconds from a POST to its answer", buckets=_BUCKETS, registry=self.registry
        )
        # Finding a child by its label costs more than counting does, and this is the hot path.
        self._post_children: dict[str, Counter] = {}
        self._event_children: dict[str, Counter] = {}

    def posted(self, status: str, seconds: float) -> None:
        child = self._post_children.get(status)
        if child is None:
            child = self._post_children[status] = self._posts.labels(status)
        child.inc()
        self._seconds.observe(seconds)

    def translated(self, events: Iterable[Event]) -> None:
        for kind, count in Tally(kind_of(event) for event in events).items():
            child = self._event_children.get(kind)
            if child is None:
                child = self._event_children[kind] = self._events.labels(kind)
            child.inc(count)


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
    def __init__(self, metrics: ReceiverMetrics, store: MetricsStore) -> None:
        self._metrics = metrics
        self._store = store

    async def show(self, _request: Request) -> Response:
        """Never fails for want of Redis: the receiver's own numbers are wanted most when it is away."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                seen = await self._store.metrics()
        except (NightshiftError, TimeoutError) as exc:
            log.warning("metrics_without_redis", error=type(exc).__name__)
            families = [_redis_up(0)]
        else:
            families = [_redis_up(1), *(_family(name, values) for name, values in seen.items())]
        registry = CollectorRegistry()
        registry.register(_Snapshot(families))
        return Response(
            generate_latest(self._metrics.registry) + generate_latest(registry), media_type=CONTENT_TYPE_LATEST
        )


class _Snapshot(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _redis_up(value: int) -> Metric:
    return GaugeMetricFamily("nightshift_redis_up", "1 when Redis answered this request", value=value)


def _family(name: str, values: Mapping[Labels, float]) -> Metric:
    what = name.removeprefix("nightshift_").removesuffix("_total").replace("_", " ")
    names = [label for label, _ in next(iter(values), ())]
    family: CounterMetricFamily | GaugeMetricFamily
    if name.endswith("_total"):
        family = CounterMetricFamily(name, f"Of the whole house: {what}", labels=names)
    else:
        family = GaugeMetricFamily(name, f"Of the whole house: {what}", labels=names)
    for labels, value in values.items():
        family.add_metric([label_value for _, label_value in labels], value)
    return family
