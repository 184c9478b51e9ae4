"""What came for an account before its second id was known is kept, and received once it is: with a real Valkey."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from bot.incoming.events import CustomerMessage
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Config
from sandbox.patience import PATIENCE_SECONDS
from store.accounts.ids import AccountIds, AccountIdStore
from store.connection import StoreUnavailable, connect
from store.outboxes.early_events import KEPT_SECONDS, MOST, EarlyEvents
from store.scripts import Scripts
from tests.webhooks.support import ACCOUNTS, IGSID, RememberingStore, make_settings, sign
from webhooks.account_id_discovery import AccountIdDiscovery
from webhooks.accounts import Accounts
from webhooks.app import create_app

pytestmark = pytest.mark.anyio

APP_SCOPED, PROFESSIONAL = "26000000000000099", "17841400000000099"
ACCOUNT = Account(channel="instagram", login="instagram", id=APP_SCOPED)
NOW_MS = 1_790_000_999_000


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture
async def scripts(valkey: EmbeddedValkey) -> AsyncIterator[Scripts]:
    client = connect(valkey.url, max_connections=5, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield Scripts(client)
    await client.aclose()


class Door:
    """A receiver with one account of Instagram Login, known by its app-scoped id."""

    def __init__(self, scripts: Scripts, *, account: Account = ACCOUNT, now_ms: int = NOW_MS) -> None:
        self.store = RememberingStore()
        self.ids = AccountIdStore(scripts)
        self.early = EarlyEvents(scripts)
        accounts = Accounts([*ACCOUNTS, account])
        self.discovery = AccountIdDiscovery(
            accounts,
            ids=self.ids,
            early=self.early,
            store=self.store,
            look_seconds=0.05,
            clock_ms=lambda: now_ms,
        )
        settings = make_settings().model_copy(update={"config": Config(accounts=(*ACCOUNTS, account))})
        self._app = create_app(settings, self.store, accounts=accounts, discovery=self.discovery)

    async def takes(self, *items: dict[str, Any], entry_id: str = PROFESSIONAL) -> int:
        entries = [{"id": entry_id, "time": 1790000000600, "messaging": [item]} for item in items]
        body = json.dumps({"object": "instagram", "entry": entries}).encode()
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as client:
            return (await client.post("/webhooks/meta", content=body, headers=sign(body))).status_code

    @property
    def messages(self) -> list[tuple[str, str, str]]:
        """Account, mid and words of what was received for an answer."""
        found = [event for event in self.store.events if isinstance(event, CustomerMessage)]
        return [(event.contact.account_id, event.mid, event.text) for event in found]

    async def waits_for(self, count: int) -> None:
        """While it gets acquainted."""
        running = asyncio.create_task(self.discovery.run())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(self.messages) < count:
                    await asyncio.sleep(0.01)
                await running
        finally:
            running.cancel()


def message(mid: str, text: str = "Привет 🚀", *, to: str = PROFESSIONAL) -> dict[str, Any]:
    return {
        "sender": {"id": IGSID},
        "recipient": {"id": to},
        "timestamp": 1790000000500,
        "message": {"mid": mid, "text": text},
    }


async def test_an_early_event_is_acknowledged_kept_and_received_once_its_account_is_known(scripts: Scripts) -> None:
    door = Door(scripts)

    assert await door.takes(message("m1"), message("m2")) == 200
    assert door.messages == []
    await door.ids.store(ACCOUNT, AccountIds(APP_SCOPED, PROFESSIONAL))
    await door.waits_for(2)

    assert door.messages == [(APP_SCOPED, "m1", "Привет 🚀"), (APP_SCOPED, "m2", "Привет 🚀")]
    assert await door.early.kept() == []
    assert await door.takes(message("m3")) == 200
    assert door.messages[-1] == (APP_SCOPED, "m3", "Привет 🚀")


async def test_a_restart_with_the_id_in_the_configuration_receives_what_was_kept(scripts: Scripts) -> None:
    assert await Door(scripts).takes(message("m1")) == 200

    door = Door(scripts, account=ACCOUNT.model_copy(update={"user_id": PROFESSIONAL}))
    await door.waits_for(1)

    assert door.messages == [(APP_SCOPED, "m1", "Привет 🚀")]


async def test_only_the_strangers_entries_of_a_body_are_kept(scripts: Scripts) -> None:
    door = Door(scripts)

    await door.takes(message("mine", to=APP_SCOPED), message("early"))

    assert [mid for _, mid, _ in door.messages] == ["mine"]
    [record] = await door.early.kept()
    assert "early" in record
    assert "mine" not in record


async def test_strangers_of_an_account_whose_ids_are_known_are_not_kept(scripts: Scripts) -> None:
    door = Door(scripts, account=ACCOUNT.model_copy(update={"user_id": PROFESSIONAL}))

    assert await door.takes(message("m1", to="17841499999999999"), entry_id="17841499999999999") == 200

    assert await door.early.kept() == []


async def test_what_stays_a_strangers_is_not_received_and_goes_after_a_day(scripts: Scripts) -> None:
    ids = AccountIds(APP_SCOPED, PROFESSIONAL)
    door = Door(scripts)
    await door.takes(message("m1", to="17841499999999999"), entry_id="17841499999999999")
    await door.ids.store(ACCOUNT, ids)

    await door.waits_for(0)
    assert len(await door.early.kept()) == 1
    await Door(scripts, now_ms=NOW_MS + round(KEPT_SECONDS * 1000) + 1).waits_for(0)

    assert await door.early.kept() == []
    assert door.messages == []


async def test_nothing_is_acknowledged_that_could_not_be_kept() -> None:
    client = connect("redis://127.0.0.1:9/0", max_connections=1, timeout_seconds=0.5)
    door = Door(Scripts(client))

    assert await door.takes(message("m1")) == 503
    assert door.store.calls == []
    await client.aclose()


async def test_an_event_that_could_not_be_received_anew_stays_kept(scripts: Scripts) -> None:
    door = Door(scripts)
    await door.takes(message("m1"))
    await door.ids.store(ACCOUNT, AccountIds(APP_SCOPED, PROFESSIONAL))
    door.store.failure = StoreUnavailable("away")
    running = asyncio.create_task(door.discovery.run())
    await asyncio.wait({running}, timeout=0.3)
    assert len(await door.early.kept()) == 1

    door.store.failure = None
    async with asyncio.timeout(PATIENCE_SECONDS):
        await running

    assert [mid for _, mid, _ in door.messages] == ["m1"]
    assert await door.early.kept() == []


async def test_no_more_is_kept_than_there_is_room_for(scripts: Scripts) -> None:
    early = EarlyEvents(scripts)

    assert await early.keep(*(f"a{n}" for n in range(MOST))) == 0
    assert await early.keep("one", "two") == 2

    kept = await early.kept()
    assert (len(kept), kept[0], kept[-1]) == (MOST, "a2", "two")
    assert 0 < await scripts.client.pttl("ns:early") <= KEPT_SECONDS * 1000
