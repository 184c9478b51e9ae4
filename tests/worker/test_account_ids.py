"""Both ids of an account with Instagram Login are asked of Meta, once, and nothing hangs on the answer."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import httpx
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from clients.http import make_http_client
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account, Environment
from sandbox.meta.callers import Host
from sandbox.meta.server import MetaSandbox
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from store.accounts.ids import AccountIds, AccountIdStore
from store.connection import connect
from store.scripts import Scripts
from worker.account_ids import AccountIdsLearner

pytestmark = pytest.mark.anyio

APP_SCOPED, PROFESSIONAL = "26000000000000099", "17841400000000099"
LOGIN = Account(
    channel=Channel.INSTAGRAM, login="instagram", id=PROFESSIONAL, user_id=APP_SCOPED, token=SecretStr("login-token")
)
BY_APP_SCOPED = LOGIN.model_copy(update={"id": APP_SCOPED, "user_id": None})
BY_PROFESSIONAL = LOGIN.model_copy(update={"user_id": None})
PAIR = AccountIds(APP_SCOPED, PROFESSIONAL)


@dataclass
class Bench:
    meta: MetaSandbox
    env: Environment
    http: httpx.AsyncClient
    ids: AccountIdStore
    told: list[tuple[str, AccountIds]] = field(default_factory=list)

    def learner(self, *accounts: Account, env: Environment | None = None) -> AccountIdsLearner:
        def graph(account: Account) -> GraphAPI:
            return GraphAPI(self.http, account=account, env=env or self.env)

        def learned(account: Account, ids: AccountIds) -> None:
            self.told.append((account.id, ids))

        return AccountIdsLearner(accounts, store=self.ids, graph=graph, learned=learned, waits_seconds=(0.01, 0.02))


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey() as server:
        yield server


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[MetaSandbox, str]]:
    meta = MetaSandbox([])
    meta.accounts = [LOGIN]  # as Meta knows it
    with SandboxServer(meta.app) as server:
        yield meta, f"{server.url}/{Host.INSTAGRAM}"


@pytest.fixture
async def bench(valkey: EmbeddedValkey, served: tuple[MetaSandbox, str]) -> AsyncIterator[Bench]:
    meta, url = served
    meta.reset()
    client = connect(valkey.url, max_connections=5, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    async with make_http_client() as http:
        yield Bench(meta, Environment(instagram_api_url=url), http, AccountIdStore(Scripts(client)))
    await client.aclose()
    assert meta.faults_left() == 0


@pytest.mark.parametrize("account", [BY_APP_SCOPED, BY_PROFESSIONAL])
@pytest.mark.parametrize("wraps", [True, False])
async def test_the_pair_is_learned_under_either_id(bench: Bench, account: Account, wraps: bool) -> None:
    bench.meta.set_wraps_me(wraps=wraps)

    await bench.learner(account).run()

    assert bench.told == [(account.id, PAIR)]
    assert await bench.ids.load() == {account.id: PAIR}


async def test_meta_is_asked_until_it_answers(bench: Bench) -> None:
    bench.meta.refuse_next(2, on="me")
    bench.meta.refuse_next(190, 463, on="me")
    bench.meta.answer_garbage_next(on="me")
    bench.meta.throttle_next(on="me")

    async with asyncio.timeout(PATIENCE_SECONDS):
        await bench.learner(BY_APP_SCOPED).run()

    assert bench.told == [(APP_SCOPED, PAIR)]


async def test_what_is_in_redis_is_told_while_meta_is_away(bench: Bench) -> None:
    await bench.ids.store(BY_APP_SCOPED, PAIR)
    nowhere = Environment(instagram_api_url="http://127.0.0.1:9")

    running = asyncio.create_task(bench.learner(BY_APP_SCOPED, env=nowhere).run())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not bench.told:
            await asyncio.sleep(0.01)
    asks_on = not running.done()
    running.cancel()

    assert bench.told[0] == (APP_SCOPED, PAIR)
    assert asks_on


async def test_a_token_of_another_account_teaches_nothing(bench: Bench) -> None:
    with capture_logs() as logs:
        await bench.learner(BY_APP_SCOPED.model_copy(update={"id": "26000000000000011"})).run()

    assert bench.told == []
    assert await bench.ids.load() == {}
    assert [(line["event"], line["log_level"]) for line in logs] == [("account_token_of_another", "error")]


async def test_only_accounts_with_an_id_to_learn_are_asked_for(bench: Bench) -> None:
    bench.meta.refuse_next(2, on="me")
    configured = BY_APP_SCOPED.model_copy(update={"user_id": PROFESSIONAL})
    through_page = Account(channel=Channel.INSTAGRAM, id="17841400000000042", token=SecretStr("login-token"))

    await bench.learner(configured, through_page).run()

    assert bench.told == []
    assert bench.meta.faults_left() == 1
    bench.meta.clear_faults()
