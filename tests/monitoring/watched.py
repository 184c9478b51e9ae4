"""A clock and a system of these tests that is watched."""

from dataclasses import dataclass, field

from pydantic import SecretStr

from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from monitoring.direct_alerts import DirectAlerts
from monitoring.watchdog import Watchdog, judge_workers
from runtime.settings import Alerts, Business, Config, Environment, Settings
from sandbox.telegram.server import TelegramSandbox
from store.health import SystemHealth
from store.incoming.inbox import Inbox
from store.outboxes.alerts import AlertOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.scripts import Scripts

TOKEN = "7000000001:invented-token"
START_MS = 1_790_000_000_000
CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")


@dataclass
class Clock:
    """Seconds since the start; also as milliseconds of a day long gone."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def ms(self) -> int:
        return START_MS + round(self.now * 1000)


def settings_with(telegram_url: str, *, token: str = TOKEN, heartbeat_url: str = "") -> Settings:
    return Settings(
        env=Environment(telegram_api_url=telegram_url, telegram_bot_token=SecretStr(token), telegram_chat_id="-100500"),
        config=Config(business=Business(locale="en"), alerts=Alerts(heartbeat_url=heartbeat_url)),
    )


@dataclass
class Watched:
    """What a test of one or more watchdogs needs at hand."""

    scripts: Scripts
    settings: Settings
    telegram: TelegramSandbox
    clock: Clock = field(default_factory=Clock)
    opened: list[DirectAlerts] = field(default_factory=list)

    @property
    def health(self) -> SystemHealth:
        return SystemHealth(self.scripts, self.settings)

    @property
    def outbox(self) -> AlertOutbox:
        return AlertOutbox(self.scripts)

    def alerts(self, settings: Settings | None = None) -> DirectAlerts:
        self.opened.append(DirectAlerts(settings or self.settings))
        return self.opened[-1]

    def watchdog(self, judge: object = judge_workers, settings: Settings | None = None) -> Watchdog:
        return Watchdog(
            judge,  # type: ignore[arg-type]
            health=self.health,
            incidents=SystemIncidents(self.scripts, self.outbox),
            alerts=self.alerts(settings),
            clock=self.clock,
            clock_ms=self.clock.ms,
        )

    async def beat(self, *processes: str) -> None:
        for process in processes:
            await self.health.beat(process, "host:1")

    async def die(self, process: str) -> None:
        await self.scripts.command("ZREM", "ns:alive", f"{process} host:1")

    async def overdue_message(self) -> None:
        inbox = Inbox(self.scripts, self.settings)
        await inbox.receive([CustomerMessage(CONTACT, MessageKind.MESSAGE, "a", START_MS, "Hi")])
        [member] = await self.scripts.command("ZRANGE", "ns:open", 0, -1)
        await self.scripts.command("ZINCRBY", "ns:open", -3_600_000, member)

    async def raised(self) -> list[str]:
        return sorted(waiting.id for waiting in await self.outbox.waiting())

    @property
    def said(self) -> list[str]:
        return [m["text"].split("\n")[1] for m in self.telegram.messages]
