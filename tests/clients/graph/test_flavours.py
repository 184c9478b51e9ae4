"""The Meta stand-in keeps the flavours apart: hosts, tokens, owners, shapes of conversations, fields of profiles."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from pydantic import SecretStr

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from clients.graph.errors import ObjectMissing, TokenInvalid
from clients.http import make_http_client
from runtime.settings import Account, Environment
from sandbox.meta.callers import Host
from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from store.accounts.ids import AccountIds

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"
PAGE = "104400000000001"
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id=PAGE, token=SecretStr("page-token"))
MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr("messenger-token"))
LOGIN = Account(
    channel=Channel.INSTAGRAM, login="instagram", id="17841400000000077", token=SecretStr("instagram-token")
)
HOMES = [(INSTAGRAM, Host.FACEBOOK), (MESSENGER, Host.FACEBOOK), (LOGIN, Host.INSTAGRAM)]
OTHER = {Host.FACEBOOK: Host.INSTAGRAM, Host.INSTAGRAM: Host.FACEBOOK}


@pytest.fixture(scope="module")
def served() -> Iterator[MetaSandbox]:
    sandbox = MetaSandbox([INSTAGRAM, MESSENGER, LOGIN])
    with SandboxServer(sandbox.app) as server:
        sandbox.app.state.url = server.url
        yield sandbox


@pytest.fixture
def meta(served: MetaSandbox) -> MetaSandbox:
    served.reset()
    served.set_limits()
    return served


@pytest.fixture
async def http(meta: MetaSandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with make_http_client(base_url=meta.app.state.url) as client:
        yield client


def environment(meta: MetaSandbox, *, swapped: bool = False) -> Environment:
    first, second = (Host.INSTAGRAM, Host.FACEBOOK) if swapped else (Host.FACEBOOK, Host.INSTAGRAM)
    url = meta.app.state.url
    return Environment(graph_api_url=f"{url}/{first}", instagram_api_url=f"{url}/{second}")


def bearer(account: Account) -> dict[str, str]:
    return {"Authorization": f"Bearer {account.token.get_secret_value()}"}


@pytest.mark.parametrize("account", [account for account, _ in HOMES])
async def test_a_token_is_known_on_its_own_host_only(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account
) -> None:
    await GraphAPI(http, account=account, env=environment(meta)).send_text(CUSTOMER, "Hi")

    with pytest.raises(TokenInvalid):
        await GraphAPI(http, account=account, env=environment(meta, swapped=True)).send_text(CUSTOMER, "Hi")

    assert [sent["account"] for sent in meta.sent] == [account.id]


@pytest.mark.parametrize(("account", "host"), HOMES)
async def test_an_owner_of_another_account_is_no_object_of_this_token(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, host: Host
) -> None:
    body = {"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}}
    strangers = {"17841499999999999", INSTAGRAM.id, LOGIN.id, PAGE} - {account.id, account.page_id}

    for owner in strangers:
        answer = await http.post(f"/{host}/v26.0/{owner}/messages", json=body, headers=bearer(account))
        error = answer.json()["error"]
        assert (error["code"], error["error_subcode"]) == (100, 33)
    mine = await http.post(f"/{host}/v26.0/me/messages", json=body, headers=bearer(account))

    assert mine.json()["recipient_id"] == CUSTOMER


async def test_the_app_scoped_id_names_no_path(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    app_scoped = LOGIN.model_copy(update={"id": meta.app_scoped_id(LOGIN)})
    with pytest.raises(ObjectMissing):
        await GraphAPI(http, account=app_scoped, env=environment(meta)).send_text(CUSTOMER, "Hi")

    both = app_scoped.model_copy(update={"user_id": LOGIN.id})
    await GraphAPI(http, account=both, env=environment(meta)).send_text(CUSTOMER, "Hi")

    assert [sent["account"] for sent in meta.sent] == [LOGIN.id]


@pytest.mark.parametrize("wraps", [True, False])
async def test_me_tells_both_ids_wrapped_or_bare(meta: MetaSandbox, http: httpx.AsyncClient, wraps: bool) -> None:
    meta.set_wraps_me(wraps=wraps)

    ids = await GraphAPI(http, account=LOGIN, env=environment(meta)).fetch_account_ids()

    assert ids == AccountIds(meta.app_scoped_id(LOGIN), LOGIN.id)
    assert ids.id != ids.user_id


async def test_me_of_a_page_has_no_user_id(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    asked = await http.get(f"/{Host.FACEBOOK}/v26.0/me?fields=id,user_id", headers=bearer(MESSENGER))
    known = await http.get(f"/{Host.FACEBOOK}/v26.0/me?fields=id,name", headers=bearer(MESSENGER))
    elsewhere = await http.get(f"/{Host.INSTAGRAM}/v26.0/me", headers=bearer(MESSENGER))

    assert asked.json()["error"]["code"] == 100
    assert known.json()["id"] == PAGE
    assert elsewhere.json()["error"]["code"] == 190


@pytest.mark.parametrize(("account", "host"), HOMES)
async def test_conversations_have_details_on_pages_and_bare_ids_with_instagram_login(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, host: Host
) -> None:
    meta.store.note_item(meta.text(CUSTOMER, "Hi", mid="mid-1", account=account))
    query = f"platform={account.channel.value}&user_id={CUSTOMER}"
    query += "&fields=participants,is_owner,messages{id,message,from,created_time}"

    answer = await http.get(f"/{host}/v26.0/me/conversations?{query}", headers=bearer(account))
    message = await http.get(f"/{host}/v26.0/mid-1?fields=id,message,from,to", headers=bearer(account))

    [conversation] = answer.json()["data"]
    [listed] = conversation["messages"]["data"]
    assert {party["id"] for party in conversation["participants"]["data"]} == {account.id, CUSTOMER}
    assert conversation["is_owner"] is True
    bare = {"id", "created_time"}
    assert set(listed) == (bare if account is LOGIN else bare | {"message", "from"})
    assert (message.json()["message"], message.json()["from"]["id"]) == ("Hi", CUSTOMER)
    assert ("username" in message.json()["from"]) is (account.channel == Channel.INSTAGRAM)


async def test_conversations_come_in_pages_newest_first(meta: MetaSandbox, http: httpx.AsyncClient) -> None:
    for number in range(3):
        meta.store.note_item(meta.text(f"c{number}", "Hi", account=MESSENGER, at_ms=1_790_000_000_000 + number * 1000))
    path = f"/{Host.FACEBOOK}/v26.0/{PAGE}/conversations?fields=participants&limit=2"

    first = (await http.get(path, headers=bearer(MESSENGER))).json()
    second = (await http.get(f"{path}&after={first['paging']['cursors']['after']}", headers=bearer(MESSENGER))).json()

    who = [row["participants"]["data"][1]["id"] for page in (first, second) for row in page["data"]]
    assert who == ["c2", "c1", "c0"]
    assert "paging" not in second


@pytest.mark.parametrize(
    ("account", "fields", "code"),
    [
        (LOGIN, "name,username,profile_pic,follower_count,is_user_follow_business,is_verified_user", None),
        (LOGIN, "name,biography", 100),
        (LOGIN, "first_name", 100),
        (MESSENGER, "first_name,last_name,profile_pic", None),
        (MESSENGER, "first_name,timezone", 10),
        (MESSENGER, "username", 100),
    ],
)
async def test_each_flavour_has_its_fields_of_a_profile(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, fields: str, code: int | None
) -> None:
    host = Host.INSTAGRAM if account is LOGIN else Host.FACEBOOK
    path = f"/{host}/v26.0/{CUSTOMER}?fields={fields}"

    before = (await http.get(path, headers=bearer(account))).json()
    meta.store.note_item(meta.text(CUSTOMER, "Hi", account=account))
    after = (await http.get(path, headers=bearer(account))).json()

    assert before["error"]["code"] == 230
    assert after.get("error", {}).get("code") == code


@pytest.mark.parametrize(("account", "key"), [(MESSENGER, "call_count"), (LOGIN, "call_volume")])
async def test_usage_is_told_in_the_words_of_each_host(
    meta: MetaSandbox, http: httpx.AsyncClient, account: Account, key: str
) -> None:
    meta.set_usage(63)
    graph = GraphAPI(http, account=account, env=environment(meta))
    host = Host.INSTAGRAM if account is LOGIN else Host.FACEBOOK
    body = {"recipient": {"id": CUSTOMER}, "message": {"text": "Hi"}}

    sent = await graph.send_text(CUSTOMER, "Hi")
    answer = await http.post(f"/{host}/v26.0/me/messages", json=body, headers=bearer(account))

    assert sent.usage_percent == 63
    assert f'"{key}":63' in answer.headers["x-app-usage"]
    assert f'"type":"{account.channel}"' in answer.headers["x-business-use-case-usage"]
    assert ("instagram-api-version" in answer.headers) is (account is LOGIN)
