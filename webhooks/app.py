"""Puts the receiver together: one ASGI application from settings and a store."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from monitoring.deafness import Hearing
from monitoring.watchdog import watch_receiver
from runtime.background import Background, Count
from runtime.clock import now_ms
from runtime.logging import get_logger
from runtime.settings import Settings
from runtime.start import say_warnings
from store.accounts.ids import AccountIdStore
from store.failure_counts import count_in
from store.incoming.inbox import open_inbox
from store.outboxes.early_events import EarlyEvents
from store.server.replicas import tell_replicas
from webhooks.account_id_discovery import AccountIdDiscovery
from webhooks.accounts import Accounts
from webhooks.endpoints import EventStore, Limits, UnknownAccountEntries, WebhookEndpoint
from webhooks.guards.budget import Budget
from webhooks.guards.connections import Connections
from webhooks.status.health import Freshness, HealthEndpoints, HealthStore, SystemHealthStore
from webhooks.status.metrics import MetricsEndpoint, MetricsStore, ReceiverMetrics
from webhooks.status.operators import operators_only
from webhooks.verification import Verification

log = get_logger(__name__)

WEBHOOK_PATH = "/webhooks/meta"
_AGAIN_SECONDS = 5.0


class OperatorStore(SystemHealthStore, MetricsStore, Protocol):
    """What operators ask of Redis."""


class Store(EventStore, HealthStore, OperatorStore, Protocol):
    """All that the receiver asks of Redis."""


def create_app(
    settings: Settings,
    store: Store,
    *,
    operator_store: OperatorStore | None = None,
    accounts: Accounts | None = None,
    discovery: UnknownAccountEntries | None = None,
    close: Callable[[], Awaitable[None]] | None = None,
    background_jobs: Sequence[Callable[[], Awaitable[None]]] = (),
    count: Count | None = None,
    again_seconds: float = _AGAIN_SECONDS,
    limits: Limits | None = None,
    connections: Connections | None = None,
    freshness: Freshness | None = None,
    hearing: Hearing | None = None,
    clock_ms: Callable[[], int] = now_ms,
) -> ASGIApp:
    """The application; `operator_store` answers operators' questions (without one, `store` does).

    Each of `background_jobs` runs until it ends or the server stops, and is begun anew after a failure, which `count`
    counts; then `close` is awaited.
    """
    budget = Budget()
    metrics = ReceiverMetrics(connections or Connections(), budget)
    webhook = WebhookEndpoint(
        secrets=settings.env.app_secrets,
        accounts=accounts or Accounts(settings.config.accounts),
        store=store,
        metrics=metrics,
        budget=budget,
        hearing=hearing or Hearing(),
        discovery=discovery,
        limits=limits,
        clock_ms=clock_ms,
    )
    verification = Verification(settings.env.meta_verify_token.get_secret_value())
    operator_store, freshness = operator_store or store, freshness or Freshness()
    health = HealthEndpoints(store, operator_store, freshness)
    shown = MetricsEndpoint(metrics, operator_store, freshness)
    ops_token = settings.env.ops_token.get_secret_value()

    @asynccontextmanager
    async def lifespan(_site: Starlette) -> AsyncIterator[None]:
        _say_what_is_missing(settings)
        background = Background(count=count)
        for job in background_jobs:
            background.keep(job.__name__, job, again_seconds=again_seconds)
        try:
            yield
        finally:
            await background.aclose()
            if close is not None:
                await close()

    site = Starlette(
        routes=[
            # POST never comes this far; it is named for the answer to other methods, which has to list it.
            Route(WEBHOOK_PATH, verification.answer, methods=["GET", "POST"]),
            Route(f"{WEBHOOK_PATH}/", verification.answer, methods=["GET", "POST"]),
            Route("/health/live", health.live, methods=["GET"]),
            Route("/health/ready", health.ready, methods=["GET"]),
            Route("/health/system", operators_only(ops_token, health.system), methods=["GET"]),
            Route("/metrics", operators_only(ops_token, shown.show), methods=["GET"]),
        ],
        lifespan=lifespan,
    )
    site.router.redirect_slashes = False  # Meta follows no redirect, and it would lead wherever the Host header says

    async def receiver(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].rstrip("/") == WEBHOOK_PATH:
            await webhook(scope, receive, send)
        else:
            await site(scope, receive, send)

    return receiver


def open_app(settings: Settings, connections: Connections) -> ASGIApp:
    """The application over the real inbox, which it closes when the server stops.

    What operators ask has a client of its own: a look walks through thousands of open messages, and no POST shall wait
    for its answer behind one.
    """
    inbox, operator_store = open_inbox(settings, role="receiver"), open_inbox(settings, role="receiver-looks")
    accounts = Accounts(settings.config.accounts)
    ids, early, clock_ms = AccountIdStore(inbox.scripts), EarlyEvents(inbox.scripts), inbox.scripts.clock.now_ms
    discovery = AccountIdDiscovery(accounts, ids=ids, early=early, store=inbox, clock_ms=clock_ms)

    count = count_in(inbox.scripts)

    async def discover_account_ids() -> None:
        await discovery.run(count=count)

    hearing = Hearing()

    async def watch() -> None:
        await watch_receiver(settings, hearing)

    async def check() -> None:
        await tell_replicas(inbox.scripts)

    async def close() -> None:
        try:
            await operator_store.aclose()
        finally:
            await inbox.aclose()

    return create_app(
        settings,
        inbox,
        operator_store=operator_store,
        accounts=accounts,
        discovery=discovery,
        close=close,
        background_jobs=(discover_account_ids, watch, check),
        count=count,
        connections=connections,
        hearing=hearing,
        clock_ms=clock_ms,
    )


def _say_what_is_missing(settings: Settings) -> None:
    say_warnings(settings)
    if not settings.env.app_secrets:
        log.error("webhooks_refused", reason="META_APP_SECRETS is missing: every POST is answered with 403")
    if not settings.env.meta_verify_token.get_secret_value():
        log.warning("verification_refused", reason="META_VERIFY_TOKEN is missing: Meta cannot confirm the address")
    if settings.env.public_url and not settings.env.ops_token.get_secret_value().strip():
        reason = "OPS_TOKEN is missing: /metrics and /health/system answer on this machine alone, and never by a proxy"
        log.info("operators_by_address", reason=reason)
    if not settings.config.accounts:
        log.error("no_accounts", reason="no [[accounts]] in the configuration: every message is unknown")
