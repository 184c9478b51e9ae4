"""Every payload that Meta is known to send, from its bytes to the books: what becomes of it, and of nothing else."""

import json
import random
from collections import Counter
from typing import Any, TypeVar

import httpx
import orjson
import pytest
from pydantic import SecretStr

from bot.conversation import OpenMessage
from bot.incoming.events import Channel
from bot.incoming.meta_values import TEXT_LIMIT
from runtime.settings import Account, Environment, Settings
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from tests.payloads import APP_ID, CUSTOMERS, INSTAGRAM, PAGE, names, raw
from tests.payloads.ends import ENDS
from tests.payloads.kinds import Answered, End, HumanAtWork, Nothing, Silenced, Told
from tests.payloads.mutate import mutate
from tests.webhooks.support import RECEIVED_MS, SECRET, sign
from webhooks.app import create_app
from webhooks.payloads import parse_body

pytestmark = pytest.mark.anyio

Kind = TypeVar("Kind")
ACCOUNTS = (
    Account(channel=Channel.INSTAGRAM, id=INSTAGRAM, page_id=PAGE),
    Account(channel=Channel.MESSENGER, id=PAGE),
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    env = Environment(redis_url=settings.env.redis_url, meta_app_id=APP_ID, meta_app_secrets=SecretStr(SECRET))
    return Settings(env=env, config=settings.config.model_copy(update={"accounts": ACCOUNTS}))


@pytest.fixture
async def receiver(scripts: Scripts, settings: Settings) -> httpx.AsyncClient:
    app = create_app(settings, Inbox(scripts, settings), clock_ms=lambda: RECEIVED_MS)  # of the payloads' own day
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://receiver")


async def post(receiver: httpx.AsyncClient, name: str) -> httpx.Response:
    body = raw(name)
    return await receiver.post("/webhooks/meta", content=body, headers=sign(body))


@pytest.mark.parametrize("name", sorted(ENDS))
async def test_a_payload_comes_to_its_end(
    name: str, receiver: httpx.AsyncClient, scripts: Scripts, settings: Settings
) -> None:
    answer = await post(receiver, name)

    assert answer.status_code == 200
    await check_the_books(scripts, ENDS[name])
    await check_the_prompts(scripts, settings, of(Answered, ENDS[name]))
    await check_the_conversations(scripts, ENDS[name])
    for event, times in Counter(end.event for end in of(Nothing, ENDS[name])).items():
        assert await scripts.command("HGET", "ns:events", event) == str(times)
    assert await scripts.command("HKEYS", "ns:alerts") == [end.alert for end in of(Told, ENDS[name])]


async def check_the_books(scripts: Scripts, ends: tuple[End, ...]) -> None:
    answered, silenced = of(Answered, ends), of(Silenced, ends)
    books = await Ledger(scripts).sums()
    counted = {name: n for name, n in books.as_json().items() if n and name in ("received", "silenced", "open")}
    expected = {"received": len(answered) + len(silenced), "silenced": len(silenced), "open": len(answered)}
    assert books.balanced
    assert counted == {name: n for name, n in expected.items() if n}
    if not any(event == "reopened" for event, _ in await ledger_events(scripts)):
        assert [why for event, why in await ledger_events(scripts) if event == "silenced"] == [
            end.reason for end in silenced
        ]


async def check_the_prompts(scripts: Scripts, settings: Settings, answered: list[Answered]) -> None:
    due = (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids
    messages: list[OpenMessage] = []
    for conversation_id in due:
        claimed = await Conversations(scripts, settings).claim(conversation_id)
        assert isinstance(claimed, Claimed)
        messages += claimed.conversation.messages
    assert [m.for_model for m in messages] == [end.words.rstrip("\n") or "[unsupported message]" for end in answered]
    assert [m.needs_text for m in messages] == [not end.words for end in answered]


async def check_the_conversations(scripts: Scripts, ends: tuple[End, ...]) -> None:
    people, known = of(HumanAtWork, ends), await conversations(scripts)
    expected = {INSTAGRAM} if Silenced("self") in ends else set(CUSTOMERS)
    assert {conversation["customer"].removeprefix("user_ref:") for conversation in known} <= expected
    assert sum(int(conversation.get("takeover_until", 0)) > 0 for conversation in known) == len(people)
    if people:
        assert await history(scripts) == [f"business: {end.words}" for end in people if end.words]


def test_every_payload_has_its_end() -> None:
    assert names() == sorted(ENDS)


@pytest.mark.parametrize("name", sorted(ENDS))
async def test_a_payload_sent_again_changes_nothing(name: str, receiver: httpx.AsyncClient, scripts: Scripts) -> None:
    await post(receiver, name)
    before = (await Ledger(scripts).sums()).as_json(), await history(scripts), await alert_counts(scripts)

    await post(receiver, name)

    after = (await Ledger(scripts).sums()).as_json(), await history(scripts), await alert_counts(scripts)
    for books in (before[0], after[0]):
        books.pop("oldest_open_seconds")
    assert after == before


@pytest.mark.parametrize(
    "name", sorted(name for name, ends in ENDS.items() if any(isinstance(e, Answered) for e in ends))
)
async def test_whatever_a_customer_sends_opens_the_window(
    name: str, receiver: httpx.AsyncClient, scripts: Scripts
) -> None:
    await post(receiver, name)

    [conversation] = await conversations(scripts)
    assert int(conversation["acted_at"]) > 0


@pytest.mark.parametrize("name", sorted(ENDS))
async def test_a_conversation_without_anything_open_is_not_kept_for_ever(
    name: str, receiver: httpx.AsyncClient, scripts: Scripts
) -> None:
    await post(receiver, name)

    waits = any(isinstance(end, Answered) for end in ENDS[name])
    keys = [str(key) async for key in scripts.client.scan_iter(match="ns:c:*")]
    for key in keys:
        assert (await scripts.client.pttl(key) == -1) == waits, key


async def test_an_echo_after_the_end_does_not_keep_a_conversation_for_ever(
    receiver: httpx.AsyncClient, scripts: Scripts
) -> None:
    for name in (
        "instagram/messages/text",
        "instagram/events/deletion",
        "instagram/events/echo_of_words",
    ):  # a message, taken back; and then words of a human's
        await post(receiver, name)

    keys = [str(key) async for key in scripts.client.scan_iter(match="ns:c:*")]
    assert len(keys) == 3
    assert all([await scripts.client.pttl(key) > 0 for key in keys])


@pytest.mark.parametrize("name", ["instagram/messages/text", "messenger/messages/text"])
async def test_a_mid_is_known_again_on_either_channel(name: str, receiver: httpx.AsyncClient, scripts: Scripts) -> None:
    for _ in range(3):
        await post(receiver, name)

    books = await Ledger(scripts).sums()
    assert (books.received, books.open) == (1, 1)
    assert await scripts.command("HGET", "ns:events", "duplicate") == "2"


async def test_a_thousand_entries_are_a_thousand_conversations(receiver: httpx.AsyncClient, scripts: Scripts) -> None:
    customers = [f"{9_001_000_000_000_000 + number}" for number in range(1000)]
    entries = [
        json.loads(raw("instagram/messages/text").replace(CUSTOMERS[0].encode(), each.encode()))["entry"][0]
        for each in customers
    ]
    body = json.dumps({"object": "instagram", "entry": entries}).encode()

    answer = await receiver.post("/webhooks/meta", content=body, headers=sign(body))

    books = await Ledger(scripts).sums()
    assert answer.status_code == 200
    assert (books.received, books.open, books.balanced) == (1000, 1000, True)
    assert len(await conversations(scripts)) == 1000


async def test_a_body_as_large_as_allowed_is_one_message_cut_to_what_a_prompt_takes(
    receiver: httpx.AsyncClient, scripts: Scripts, settings: Settings
) -> None:
    body = raw("instagram/messages/text").replace(
        b"Is the blue one", b"x" * (8 * 1024 * 1024 - len(raw("instagram/messages/text")))
    )

    answer = await receiver.post("/webhooks/meta", content=body, headers=sign(body))

    [conversation_id] = (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids
    claimed = await Conversations(scripts, settings).claim(conversation_id)
    assert answer.status_code == 200
    assert isinstance(claimed, Claimed)
    assert TEXT_LIMIT < len(claimed.conversation.messages[0].for_model) < TEXT_LIMIT + 100


async def test_payloads_with_faults_are_all_taken_and_the_books_balance(
    receiver: httpx.AsyncClient, scripts: Scripts, settings: Settings
) -> None:
    chance = random.Random(20_261_130)
    received = 0
    for _ in range(1200):
        payload = parse_body(raw(chance.choice(names())))
        for _ in range(chance.randint(1, 3)):
            payload = mutate(payload, chance.choice)
        body = json.dumps(payload).encode()
        answer = await receiver.post("/webhooks/meta", content=body, headers=sign(body))
        assert answer.status_code == 200, body[:2000]

        books = await Ledger(scripts).sums()
        assert books.balanced, body[:2000]
        assert books.received >= received
        received = books.received

    assert received > 100
    due = (await Schedule(scripts).pop_due(limit=5000, quota=5000)).conversation_ids
    assert due
    for conversation_id in due:
        claimed = await Conversations(scripts, settings).claim(conversation_id)
        assert isinstance(claimed, Claimed)
        assert all(message.for_model.strip() for message in claimed.conversation.messages)


def of(kind: type[Kind], ends: tuple[End, ...]) -> list[Kind]:
    return [end for end in ends if isinstance(end, kind)]


async def ledger_events(scripts: Scripts) -> list[tuple[str, str]]:
    rows: Any = await scripts.client.xrange("ns:ledger")
    return [(fields["e"], fields["w"]) for _, fields in rows]


async def conversations(scripts: Scripts) -> list[dict[str, str]]:
    names = [str(name) async for name in scripts.client.scan_iter(match="ns:c:*", _type="HASH")]
    found: list[Any] = [await scripts.client.hgetall(name) for name in names if name.count(":") == 2]
    return found


async def history(scripts: Scripts) -> list[str]:
    found: list[str] = []
    async for name in scripts.client.scan_iter(match="ns:c:*:history"):
        for entry in await scripts.client.lrange(name, 0, -1):
            line = orjson.loads(entry)
            found.append(f"{line['role']}: {line['text']}")
    return found


async def alert_counts(scripts: Scripts) -> list[int]:
    return [orjson.loads(body)["count"] for body in await scripts.client.hvals("ns:alerts")]
