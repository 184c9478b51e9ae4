"""What the tests of reading back stand on: Meta's stand-in, a real Valkey, and the worker's side of both."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx
from pydantic import SecretStr

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from runtime.clock import now_ms
from runtime.settings import Account, Config, Debounce, Environment, Reconcile, Settings, Shift
from sandbox.meta.server import MetaSandbox
from sandbox.patience import PATIENCE_SECONDS
from store.accounts.ids import AccountIdStore
from store.accounts.marks import Marks
from store.accounts.pacing import Pacing
from store.incoming.inbox import Inbox
from store.incoming.known_messages import KnownMessages
from store.keys import FIRST_SEEN, RECONCILED
from store.ledger import Ledger
from store.outboxes.alerts import AlertOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from worker.backfill.reading import Reading
from worker.backfill.reconciliation import Reconciler
from worker.backfill.unread_messages import UnreadReader

PAGE = "104400000000001"
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id=PAGE, token=SecretStr("insta-token"))
LOGIN = Account(channel=Channel.INSTAGRAM, login="instagram", id="17841400000000099", token=SecretStr("login-token"))
MINUTE = 60_000


@dataclass
class ReadingBench:
    meta: MetaSandbox
    url: str
    http: httpx.AsyncClient
    scripts: Scripts
    account: Account = INSTAGRAM
    shift: Shift = field(default_factory=Shift)
    minutes: float = 5

    @property
    def settings(self) -> Settings:
        env = Environment(graph_api_url=self.url, instagram_api_url=self.url)
        config = Config(
            accounts=(self.account,),
            debounce=Debounce(quiet_seconds=0, max_wait_seconds=0),
            reconcile=Reconcile(minutes=self.minutes),
            shift=self.shift,
        )
        return Settings(env=env, config=config)

    @property
    def reading(self) -> Reading:
        settings = self.settings
        graph = GraphAPI(self.http, account=self.account, env=settings.env, timeout_seconds=PATIENCE_SECONDS)
        return Reading(
            settings=settings,
            graph=lambda _: graph,
            pacing=Pacing(self.scripts),
            inbox=Inbox(self.scripts, settings),
            known=KnownMessages(self.scripts),
            ids=AccountIdStore(self.scripts),
            now_ms=now_ms,
        )

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.scripts, self.settings)

    @property
    def outbox(self) -> UnreadMessages:
        return UnreadMessages(self.scripts)

    def reader(self, *waits_seconds: float) -> UnreadReader:
        return UnreadReader(self.outbox, self.reading, waits_seconds=waits_seconds)

    def reconciler(self, *, look_seconds: float = 30) -> Reconciler:
        incidents = SystemIncidents(self.scripts, AlertOutbox(self.scripts))
        return Reconciler(self.reading, Marks(self.scripts), incidents, look_seconds=look_seconds)

    def lose(self, customer_id: str, text: str, *, minutes_ago: float = 2, mid: str | None = None) -> None:
        """A customer writes, and no webhook tells of it."""
        at_ms = now_ms() - round(minutes_ago * MINUTE)
        self.meta.lose(self.meta.text(customer_id, text, at_ms=at_ms, mid=mid))

    async def installed(self, *, minutes_ago: float) -> None:
        since = now_ms() - round(minutes_ago * MINUTE)
        await self.scripts.command("HSET", FIRST_SEEN, f"{self.account.channel} {self.account.id}", since)

    async def looked(self, *, minutes_ago: float, whole_minutes_ago: float) -> None:
        """When the last look was, and the last one that went all the way."""
        name = f"{self.account.channel} {self.account.id}"
        for key, minutes in ((name, minutes_ago), (f"{name} whole", whole_minutes_ago)):
            await self.scripts.command("HSET", RECONCILED, key, now_ms() - round(minutes * MINUTE))

    async def sums(self) -> Mapping[str, int]:
        books = await Ledger(self.scripts).sums()
        assert books.balanced
        return {
            name: value
            for name, value in books.as_json().items()
            if value and name not in ("balanced", "oldest_open_seconds")
        }

    async def counted(self, kind: str) -> int:
        return int(await self.scripts.command("HGET", "ns:events", kind) or 0)
