"""The product's side of a world, and the only module here that knows how it is put together.

Everything is real but the two edges of each process: its connection to the store, and its HTTP client.
"""

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import httpx
from pydantic import SecretStr

from bot.incoming.events import Event
from runtime.config import CustomerLimits
from runtime.settings import Account, Business, Config, Debounce, Environment, Settings, Shift
from store.connection import Store, connect
from store.incoming.inbox import Inbox
from store.schedule import Schedule
from store.scripts import Scripts
from store.server.clock import ServerClock
from store.server.clock_watch import ClockWatch
from tests.worlds.edges import GatedTransport, GatedWire, Process
from tests.worlds.valkey import Texts
from worker import services
from worker.services import Services, build_services
from worker.take_turn import take_turn
from worker.texts import Texts as AgentTexts
from worker.texts import load_texts

INSTAGRAM = Account(channel="instagram", id="17841400000000042", page_id="104400000000001", token="an-invented-token")
MESSENGER = Account(channel="messenger", id="104400000000002", page_id="104400000000002", token="another-token")
ACCOUNTS = (INSTAGRAM, MESSENGER)
APP_ID = "555000111222333"
TAKEOVER_SECONDS = 120.0


@cache
def settings_of(*, accounts: tuple[Account, ...] = ACCOUNTS, replicas: int = 0, look_back: bool = False) -> Settings:
    return Settings(
        env=Environment(
            redis_url=SecretStr("redis://127.0.0.1:1/0"),
            graph_api_url="http://meta",
            llm_api_url="http://model",
            llm_api_key=SecretStr("key"),
            meta_app_id=APP_ID,
        ),
        config=Config(
            accounts=accounts,
            debounce=Debounce(quiet_seconds=1, max_wait_seconds=4),
            business=Business(disclosure=False),
            shift=Shift(takeover_minutes=TAKEOVER_SECONDS / 60, look_back=look_back),
            limits=CustomerLimits(turns_per_customer_hour=0, cost_per_customer_day=0),
            store={"replicas": replicas},
        ),
    )


@cache
def _texts() -> AgentTexts:
    return load_texts(settings_of())


class Edges:
    """What each process of one world is given in place of a network and a clock."""

    def __init__(self, *, texts: Texts, moment: Callable[[], float], server_time: Callable[[], int]) -> None:
        self.texts = texts
        self.moment = moment
        self.server_time = server_time

    def scripts(self, process: Process, settings: Settings) -> Scripts:
        return Scripts(self._store(process), replicas=settings.config.store.replicas, texts=self.texts)

    def _store(self, process: Process) -> Store:
        store = connect("redis://127.0.0.1:1/0", max_connections=1, timeout_seconds=5)
        wire = GatedWire(process, self.server_time)
        store.wire = store.confirming = wire  # type: ignore[assignment]  # the edge
        store.clock = ServerClock(monotonic=self.moment, before=self.server_time)
        return store

    async def worker(self, process: Process, settings: Settings) -> Services:
        """As a worker process builds itself, without what goes on beside its turns."""

        def scripts(client: Store, *, replicas: int = 0) -> Scripts:
            return Scripts(client, replicas=replicas, texts=self.texts)

        edges: dict[str, Any] = {
            "connect": lambda *_, **__: self._store(process),
            "make_http_client": lambda: httpx.AsyncClient(transport=GatedTransport(process), trust_env=False),
            "clock": SimpleNamespace(monotonic=self.moment),
            "Scripts": scripts,
        }
        with patch.multiple(services, **edges):
            built = await build_services(settings, _texts())
        await built.background.aclose()
        return built


class Receiver:
    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._inbox = Inbox(scripts, settings)

    async def receive(self, events: Sequence[Event]) -> None:
        await self._inbox.receive(events)


class Dispatcher:
    def __init__(self, scripts: Scripts, settings: Settings, moment: Callable[[], float]) -> None:
        self._schedule = Schedule(scripts, clock=moment)
        self._watch = ClockWatch(scripts, settings)

    async def pop(self) -> tuple[str, ...]:
        """What is due now, and with it what a round does about a clock that has jumped."""
        due = await self._schedule.pop_due(limit=100, quota=500)
        self._watch.saw(due.told)
        await self._watch.mend(*due.conversation_ids)
        return due.conversation_ids


async def turn(built: Services, conversation_id: str) -> str:
    """How it ended, in the words that Flower shows."""
    return str(await take_turn(built, conversation_id))
