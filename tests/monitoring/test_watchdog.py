"""Who watches tells: through the outbox, and itself when the worker that empties it is what has failed."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest
from pydantic import SecretStr
from sentry_sdk.crons.consts import MonitorStatus
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.alerts.alert import Alert
from bot.incoming.events import Channel, Contact, CustomerMessage, MessageKind
from monitoring.check_in import CheckIn
from monitoring.deafness import MOST_IN_A_ROW, Deafness, Hearing
from monitoring.direct_alerts import DirectAlerts
from monitoring.store_watch import StoreWatch
from monitoring.watchdog import Judgement, ReceiverWatch, Watchdog, judge_dispatcher, judge_receiver, judge_workers
from runtime.embedded import EmbeddedValkey
from runtime.settings import Alerts, Business, Config, Environment, Settings
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from sandbox.telegram.server import TelegramSandbox
from store.connection import connect
from store.health import SystemHealth, View
from store.inbox import Inbox
from store.outboxes.alerts import AlertOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.scripts import Scripts

pytestmark = pytest.mark.anyio
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


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


@pytest.fixture(scope="module")
def telegram_server() -> Iterator[tuple[TelegramSandbox, str]]:
    sandbox = TelegramSandbox(token=TOKEN)
    with SandboxServer(sandbox.app) as server:
        yield sandbox, server.url


@pytest.fixture
def telegram(telegram_server: tuple[TelegramSandbox, str]) -> TelegramSandbox:
    telegram_server[0].messages.clear()
    return telegram_server[0]


def settings_with(telegram_url: str, *, token: str = TOKEN, heartbeat_url: str = "") -> Settings:
    return Settings(
        env=Environment(telegram_api_url=telegram_url, telegram_bot_token=SecretStr(token), telegram_chat_id="-100500"),
        config=Config(business=Business(locale="en"), alerts=Alerts(heartbeat_url=heartbeat_url)),
    )


@pytest.fixture
def settings(telegram_server: tuple[TelegramSandbox, str]) -> Settings:
    return settings_with(telegram_server[1])


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


@pytest.fixture
async def watched(scripts: Scripts, settings: Settings, telegram: TelegramSandbox) -> AsyncIterator[Watched]:
    here = Watched(scripts, settings, telegram)
    yield here
    for alerts in here.opened:
        await alerts.aclose()


NO_WORKER = "No worker is running: customers get no replies."
WORKER_AGAIN = "A worker is running: customers get replies again."


async def test_a_system_that_is_just_starting_raises_nothing(watched: Watched) -> None:
    dispatchers, receivers = watched.watchdog(), watched.watchdog(judge_dispatcher)
    for watched.clock.now in (0, 30, 59):
        await dispatchers.look()
        await receivers.look()

    assert await watched.raised() == []
    assert watched.said == []


async def test_without_a_worker_the_dispatcher_tells_by_itself_and_once(watched: Watched) -> None:
    watchdog = watched.watchdog()
    for watched.clock.now in (0, 61, 66, 200, 4000):
        await watchdog.look()

    assert watched.said == [NO_WORKER]
    assert await watched.raised() == ["system:no_worker"]
    waiting = await watched.outbox.load("system:no_worker")
    assert waiting is not None
    assert (waiting.delivered, waiting.message_id) == (1, "1")  # so that a worker, once there, need not repeat it


async def test_several_watchers_say_a_thing_once_and_its_end_once(watched: Watched) -> None:
    watchdogs = [watched.watchdog() for _ in range(3)]

    async def look_at(*times: float) -> None:
        for watched.clock.now in times:
            for watchdog in watchdogs:
                await watchdog.look()

    await look_at(0, 61, 70)
    await watched.beat("worker", "dispatcher")
    await look_at(75, 99)
    too_early = list(watched.said)
    await look_at(106, 111)
    await watched.die("worker")
    await look_at(120, 400)

    assert too_early == [NO_WORKER]
    # The good news was left to the worker, which died again before it had told it: the watchers do, in order.
    assert watched.said == [NO_WORKER, WORKER_AGAIN, NO_WORKER]
    assert len({m["message_id"] for m in watched.telegram.messages}) == 3


async def test_a_watcher_that_missed_the_break_does_not_end_it_early(watched: Watched) -> None:
    saw_it, missed_it = watched.watchdog(), watched.watchdog()
    await watched.beat("worker")
    for watched.clock.now in (0, 60):
        await missed_it.look()
    await watched.die("worker")
    watched.clock.now = 64
    await saw_it.look()
    await watched.beat("worker")
    for watched.clock.now in (65, 90):
        await missed_it.look()
    early = await watched.raised()
    watched.clock.now = 95
    await missed_it.look()

    assert early == ["system:no_worker"]
    assert await watched.raised() == ["system:no_worker:recovered"]


async def test_the_end_is_raised_for_the_worker_to_deliver_and_told_if_it_does_not(watched: Watched) -> None:
    watchdog = watched.watchdog()
    for watched.clock.now in (0, 61):
        await watchdog.look()
    await watched.beat("worker", "dispatcher")
    for watched.clock.now in (70, 101):
        await watchdog.look()
    left_to_the_worker = list(watched.said)
    watched.clock.now = 162
    await watchdog.look()

    assert left_to_the_worker == [NO_WORKER]
    assert watched.said == [NO_WORKER, WORKER_AGAIN]
    assert "Lasted: " in watched.telegram.messages[1]["text"]


async def test_the_receiver_tells_that_the_dispatcher_is_gone(watched: Watched) -> None:
    await watched.beat("worker", "dispatcher")
    watchdog = watched.watchdog(judge_dispatcher)
    watched.clock.now = 100
    await watchdog.look()
    await watched.die("dispatcher")
    watched.clock.now = 105
    await watchdog.look()

    # At once: a worker lives, but there is nobody to hand it the alert.
    assert await watched.raised() == ["system:no_dispatcher"]
    assert watched.said == ["No dispatcher is running: new messages are kept, but nobody answers them."]


def miss(deafness: Deafness, times: int = MOST_IN_A_ROW) -> None:
    for _ in range(times):
        deafness.missed()


async def test_a_receiver_that_hears_nothing_tells_until_the_first_that_it_takes(watched: Watched) -> None:
    hearing = Hearing(Deafness(watched.clock), Deafness(watched.clock))
    watchdog = watched.watchdog(partial(judge_receiver, hearing))
    await watched.beat("worker", "dispatcher")
    miss(hearing.signed)
    for watched.clock.now in (0, 59, 60, 65):
        await watchdog.look()
    raised, report = await watched.raised(), await watched.health.report()
    metrics = await watched.health.metrics()
    hearing.signed.heard()
    for watched.clock.now in (66, 100):
        await watchdog.look()

    assert raised == ["system:deaf"]
    assert report["ok"] is False
    assert metrics["nightshift_open_incidents"] == {(("rule", "deaf"),): 1.0}
    assert "system:deaf:recovered" in await watched.raised()
    assert (await watched.health.report())["ok"] is True


async def test_the_managers_read_what_to_check(watched: Watched) -> None:
    hearing = Hearing(Deafness(watched.clock), Deafness(watched.clock))
    watchdog = watched.watchdog(partial(judge_receiver, hearing))
    miss(hearing.signed)
    miss(hearing.understood, 25)
    for watched.clock.now in (0, 61):
        await watchdog.look()

    said = "".join(watched.said)
    assert "META_APP_SECRETS" in said
    assert "(20 refused in a row)" in said
    assert "Include values" in said
    assert "(25 in a row)" in said


async def test_a_receiver_that_hears_does_not_end_the_alarm_of_one_that_does_not(watched: Watched) -> None:
    deaf, hears = (Hearing(Deafness(watched.clock), Deafness(watched.clock)) for _ in range(2))
    watchdogs = [watched.watchdog(partial(judge_receiver, hearing)) for hearing in (deaf, hears)]
    miss(deaf.signed)
    hears.signed.heard()
    for watched.clock.now in range(0, 200, 5):
        for watchdog in watchdogs:
            await watchdog.look()

    assert "system:deaf" in await watched.raised()
    assert "system:deaf:recovered" not in await watched.raised()


async def test_an_overdue_message_knows_no_grace(watched: Watched) -> None:
    await watched.beat("worker", "dispatcher")
    await watched.overdue_message()
    watchdog = watched.watchdog()

    await watchdog.look()

    assert await watched.raised() == ["system:overdue"]
    waiting = await watched.outbox.load("system:overdue")
    assert waiting is not None
    assert waiting.alert.detail == "1"
    [[_, received_ms]] = await watched.scripts.command("ZRANGE", "ns:open", 0, 0, "WITHSCORES")
    assert waiting.alert.waiting_since == float(received_ms)
    assert watched.said == []  # the worker lives: it has a minute to deliver this


async def test_a_telegram_that_fails_is_tried_again(watched: Watched) -> None:
    watchdog = watched.watchdog()
    watched.telegram.refuse_next(500, "Internal Server Error")
    for watched.clock.now in (0, 61):
        await watchdog.look()
    failed = list(watched.said)
    await watched.scripts.command("DEL", "ns:telling:system:no_worker")  # the half minute of the lock is over
    await watchdog.look()

    assert failed == []
    assert watched.said == [NO_WORKER]


async def test_without_telegram_the_log_says_it_at_error(
    watched: Watched, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    watchdog = watched.watchdog(settings=settings_with("http://127.0.0.1:9", token=""))
    for watched.clock.now in (0, 61, 66):
        await watchdog.look()

    logged = caplog.text + "".join(capsys.readouterr())
    assert logged.count("alert_without_telegram") == 1
    assert "no_worker" in logged


@pytest.mark.parametrize("by_receiver", [False, True])
async def test_after_an_outage_of_redis_the_others_get_time_to_be_heard(
    watched: Watched, valkey: EmbeddedValkey, by_receiver: bool
) -> None:
    watchdog = watched.watchdog(judge_dispatcher)
    store = StoreWatch(
        watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms
    )
    look = ReceiverWatch(store, watchdog).look if by_receiver else watchdog.look
    watched.clock.now = 100
    valkey.kill()
    await look()
    valkey.restart()
    watched.clock.now = 130
    await look()
    in_grace = await watched.raised()
    watched.clock.now = 161
    await look()

    assert in_grace == []
    assert await watched.raised() == ["system:no_dispatcher"]


def test_judges_answer_only_what_they_can_know() -> None:
    nobody = View((), 0, 0.0, 0, 0, 0, 0, 0)
    everybody = View(("worker h:1", "dispatcher h:2"), 5, 9.0, 0, 0, 0, 0, 0)

    def judged(judge: object, view: View, seconds: float) -> Judgement:
        return judge(view, watched_seconds=seconds)  # type: ignore[operator, no-any-return]

    assert judged(judge_workers, nobody, 10) == {"overdue": None}
    assert judged(judge_workers, nobody, 60) == {"overdue": None, "no_worker": Alert("no_worker")}
    assert judged(judge_workers, everybody, 0) == {"overdue": None, "no_worker": None}
    assert judged(judge_dispatcher, nobody, 10) == {}
    assert judged(judge_dispatcher, everybody, 0) == {"no_dispatcher": None}


async def test_redis_down_is_told_after_half_a_minute_once_and_its_end_once(
    watched: Watched, valkey: EmbeddedValkey
) -> None:
    watch = StoreWatch(
        watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms
    )
    well = await watch.look()
    valkey.kill()
    for watched.clock.now in (5, 34):
        down = await watch.look()
    patient = list(watched.said)
    for watched.clock.now in (36, 60, 600):
        await watch.look()
    told = list(watched.said)
    valkey.restart()
    for watched.clock.now in (605, 610):
        again = await watch.look()

    assert (well, down, again) == (True, False, True)
    assert patient == []
    assert told == ["Redis cannot be written to: messages cannot be accepted, Meta will send them again later."]
    assert watched.said == [*told, "Redis takes messages again."]
    assert watched.telegram.messages[1]["text"].endswith("Lasted: 10 min 0 s")


async def test_a_short_outage_of_redis_is_not_worth_a_word(watched: Watched, valkey: EmbeddedValkey) -> None:
    watch = StoreWatch(
        watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms
    )
    valkey.kill()
    for watched.clock.now in (5, 20):
        await watch.look()
    valkey.restart()
    for watched.clock.now in (25, 60):
        await watch.look()

    assert watched.said == []


async def test_several_receivers_tell_the_end_of_an_outage_once(watched: Watched, valkey: EmbeddedValkey) -> None:
    watches = [
        StoreWatch(watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms)
        for _ in range(2)
    ]
    valkey.kill()
    for watched.clock.now in (0, 31):
        for watch in watches:
            await watch.look()
    valkey.restart()
    for watched.clock.now in (60, 65):
        for watch in watches:
            await watch.look()

    assert watched.said.count("Redis takes messages again.") == 1


@dataclass
class Bell:
    """Somebody outside who is told, once a minute, that all is well."""

    paths: list[str] = field(default_factory=list)
    status: int = 200

    @property
    def app(self) -> Starlette:
        async def answer(request: Request) -> Response:
            self.paths.append(request.url.path)
            return Response(status_code=self.status)

        return Starlette(routes=[Route("/ping/{secret}", answer)])


async def test_the_outside_hears_once_a_minute_and_only_while_all_is_well() -> None:
    clock, bell = Clock(), Bell()
    with SandboxServer(bell.app) as server:
        settings = settings_with("http://127.0.0.1:9", heartbeat_url=f"{server.url}/ping/secret-word")
        check_in = CheckIn(settings, sentry_is_on=lambda: False, clock=clock)
        for clock.now, ok in ((0, True), (5, True), (59, True), (60, False), (120, True)):
            await check_in.maybe(ok=ok)
        await check_in.aclose()

    assert bell.paths == ["/ping/secret-word"] * 2


async def test_an_address_that_fails_is_said_once_and_without_its_secret(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    clock, bell = Clock(), Bell(status=500)
    with SandboxServer(bell.app) as server:
        settings = settings_with("http://127.0.0.1:9", heartbeat_url=f"{server.url}/ping/secret-word")
        check_in = CheckIn(settings, sentry_is_on=lambda: False, clock=clock)
        for clock.now in (0, 60):
            await check_in.maybe(ok=True)
        await check_in.aclose()

    logged = caplog.text + "".join(capsys.readouterr())
    assert logged.count("heartbeat_url_failed") == 1
    assert "secret-word" not in logged


async def test_sentry_hears_of_it_either_way() -> None:
    clock, heard = Clock(), []
    settings = settings_with("http://127.0.0.1:9")
    check_in = CheckIn(settings, capture=lambda **what: heard.append(what), sentry_is_on=lambda: True, clock=clock)
    for clock.now, ok in ((0, True), (30, True), (60, False)):
        await check_in.maybe(ok=ok)

    assert [(one["monitor_slug"], one["status"]) for one in heard] == [
        ("nightshift", MonitorStatus.OK),
        ("nightshift", MonitorStatus.ERROR),
    ]
