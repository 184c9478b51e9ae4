"""An alert reaches the managers, whatever Telegram does; until then it stays in the outbox."""

from collections.abc import AsyncIterator, Iterator

import orjson
import pytest
import redis
from structlog.testing import capture_logs

from bot.alerts.alert import Alert
from runtime.clock import now_ms
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Alerts, Config, Environment, Settings
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from sandbox.telegram.server import TelegramSandbox
from store.ledger import Ledger
from worker.alerts.delivery import deliver_alert
from worker.services import Services, build_services
from worker.texts import load_texts

pytestmark = pytest.mark.anyio

TOKEN = "1234567:" + "sandbox-telegram-token-0000000000"
ACCOUNT = Account(channel="instagram", id="17841400000000042", page_id="104400000000001", token="an-invented-token")
ALERT = Alert(
    "reasoning_lock",
    told=True,
    conversation="4eb1e8a7ea08e4a6",
    channel="instagram",
    account=ACCOUNT.id,
    waiting_since=1790000000000,
    last_message_at=1790000000000,
    first_at=1790000000000,
)


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture(autouse=True)
def _empty_outbox(valkey: EmbeddedValkey) -> None:
    with redis.Redis.from_url(valkey.url) as client:
        client.flushall()


@pytest.fixture(scope="module")
def telegram_server() -> Iterator[tuple[TelegramSandbox, SandboxServer]]:
    telegram = TelegramSandbox(token=TOKEN)
    with SandboxServer(telegram.app) as server:
        yield telegram, server


@pytest.fixture
def telegram(telegram_server: tuple[TelegramSandbox, SandboxServer]) -> TelegramSandbox:
    telegram_server[0].messages.clear()
    return telegram_server[0]


@pytest.fixture(scope="module")
def meta_server() -> Iterator[tuple[MetaSandbox, SandboxServer]]:
    meta = MetaSandbox([ACCOUNT])
    with SandboxServer(meta.app) as server:
        yield meta, server


def settings_for(
    valkey: EmbeddedValkey, telegram_url: str, meta_url: str, *, show_name: bool = True, configured: bool = True
) -> Settings:
    env = Environment(
        redis_url=valkey.url,
        graph_api_url=meta_url,
        telegram_api_url=telegram_url,
        telegram_bot_token=TOKEN if configured else "",
        telegram_chat_id="-100123",
    )
    return Settings(env=env, config=Config(accounts=(ACCOUNT,), alerts=Alerts(show_name=show_name)))


@pytest.fixture
async def house(
    valkey: EmbeddedValkey,
    telegram: TelegramSandbox,
    telegram_server: tuple[TelegramSandbox, SandboxServer],
    meta_server: tuple[MetaSandbox, SandboxServer],
) -> AsyncIterator[Services]:
    settings = settings_for(valkey, telegram_server[1].url, meta_server[1].url)
    house = await build_services(settings, load_texts(settings))
    yield house
    await house.aclose()


async def test_an_alert_is_sent_once_and_closed_when_it_is_quiet(house: Services, telegram: TelegramSandbox) -> None:
    await house.outbox.raise_alert("a", ALERT)

    assert await deliver_alert(house, "a") == "sent"
    assert await deliver_alert(house, "a") == "closed"
    assert await deliver_alert(house, "a") == "gone"
    [message] = telegram.messages
    assert "4eb1e8a7ea08e4a6" in message["text"]


async def test_an_incident_that_goes_on_changes_its_own_message(house: Services, telegram: TelegramSandbox) -> None:
    await house.outbox.raise_alert("a", ALERT)
    await deliver_alert(house, "a")
    await house.outbox.raise_alert("a", ALERT)

    assert await deliver_alert(house, "a") == "updated"
    [message] = telegram.messages
    assert "2" in message["text"].splitlines()[-1]


async def test_an_update_that_telegram_refuses_is_sent_anew(house: Services, telegram: TelegramSandbox) -> None:
    await house.outbox.raise_alert("a", ALERT)
    await deliver_alert(house, "a")
    await house.outbox.raise_alert("a", ALERT)
    telegram.refuse_next(400, "Bad Request: message to edit not found")

    assert await deliver_alert(house, "a") == "sent"
    assert len(telegram.messages) == 2


@pytest.mark.parametrize("trouble", ["throttled", "refused", "blocked"])
async def test_what_telegram_does_not_take_waits_in_the_outbox(
    house: Services, telegram: TelegramSandbox, trouble: str
) -> None:
    await house.outbox.raise_alert("a", ALERT)
    match trouble:
        case "throttled":
            telegram.throttle_next(7)
        case "refused":
            telegram.refuse_next(500, "Internal Server Error")
        case "blocked":
            telegram.refuse_next(403, "Forbidden: bot was kicked from the supergroup chat")

    assert await deliver_alert(house, "a") == "waits: telegram failed"
    assert not telegram.messages
    assert [waiting.id for waiting in await house.outbox.waiting()] == ["a"]
    assert await deliver_alert(house, "a") == "sent"


async def fails_since(house: Services, alert_id: str, hours: float) -> None:
    """As if the first of the failures had been so long ago."""
    body = orjson.loads(await house.outbox._scripts.command("HGET", "ns:alerts", alert_id))
    body["failing_since"] = body.get("failing_since", now_ms()) - round(hours * 3_600_000)
    await house.outbox._scripts.command("HSET", "ns:alerts", alert_id, orjson.dumps(body).decode())


async def test_an_alert_that_telegram_refuses_for_a_day_is_given_up_loudly(
    house: Services, telegram: TelegramSandbox
) -> None:
    await house.outbox.raise_alert("a", ALERT, conversation_id=ALERT.conversation)
    for _ in range(3):
        telegram.refuse_next(403, "Forbidden: bot was kicked from the supergroup chat")
    assert await deliver_alert(house, "a") == "waits: telegram failed"
    await fails_since(house, "a", 23)
    assert await deliver_alert(house, "a") == "waits: telegram failed"
    await fails_since(house, "a", 1)

    with capture_logs() as logs:
        assert await deliver_alert(house, "a") == "given up"

    assert [line["event"] for line in logs if line["log_level"] == "critical"] == ["alert_given_up"]
    assert await house.outbox.waiting() == []
    assert await house.outbox._scripts.command("ZCARD", "ns:alerts:due") == 0
    assert await house.outbox._scripts.command("HGET", "ns:events", "alert_given_up") == "1"
    steps = [step async for step in Ledger(house.outbox._scripts).steps()]
    assert [(s.conversation_id, s.event) for s in steps][-1] == (ALERT.conversation, "alert_given_up")


async def test_an_incident_that_is_repeated_has_a_day_of_its_own(house: Services, telegram: TelegramSandbox) -> None:
    await house.outbox.raise_alert("a", ALERT)
    telegram.refuse_next(500, "Internal Server Error")
    await deliver_alert(house, "a")
    await fails_since(house, "a", 25)

    await house.outbox.raise_alert("a", ALERT)
    telegram.refuse_next(500, "Internal Server Error")

    assert await deliver_alert(house, "a") == "waits: telegram failed"
    assert await deliver_alert(house, "a") == "sent"
    assert "2" in telegram.messages[-1]["text"].splitlines()[-1]


async def test_what_does_not_arrive_is_said_loudly_once_for_each_change(
    house: Services, telegram: TelegramSandbox
) -> None:
    await house.outbox.raise_alert("a", ALERT)
    with capture_logs() as logs:
        for _ in range(3):
            telegram.refuse_next(500, "Internal Server Error")
            await deliver_alert(house, "a")
        await house.outbox.raise_alert("a", ALERT)
        telegram.refuse_next(500, "Internal Server Error")
        await deliver_alert(house, "a")

    said = [line["log_level"] for line in logs if line["event"] == "alert_not_delivered"]
    assert said == ["error", "info", "info", "error"]


async def test_without_telegram_the_log_says_it_and_the_alert_is_kept(
    valkey: EmbeddedValkey, meta_server: tuple[MetaSandbox, SandboxServer], caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(valkey, "http://127.0.0.1:9", meta_server[1].url, configured=False)
    house = await build_services(settings, load_texts(settings))
    try:
        await house.outbox.raise_alert("a", ALERT)

        assert await deliver_alert(house, "a") == "waits: telegram is not configured"
        await fails_since(house, "a", 1000)
        assert await deliver_alert(house, "a") == "waits: telegram is not configured"
        assert [waiting.id for waiting in await house.outbox.waiting()] == ["a"]
    finally:
        await house.aclose()
