"""Meta's routing gives a thread to people and back; what is said after a human; what each account has of its own."""

import orjson
import pytest

from bot.conversation import HistoryLine
from bot.incoming.events import (
    Channel,
    Contact,
    CustomerMessage,
    Echo,
    MessageKind,
    Noted,
    ThreadControl,
)
from runtime.clock import now_ms
from runtime.settings import Account, Settings, ShiftOverride
from store.scripts import Scripts
from tests.store.telling import answered
from tests.store.turns.takeover.bench import CONTACT, INSTAGRAM, Bench, control, human, message

pytestmark = pytest.mark.anyio


OUR_APP = "555000111222333"


@pytest.mark.parametrize(
    ("event", "held"),
    [
        (control("take", "263902037430900"), True),
        (control("take", None), True),
        (control("take", OUR_APP), False),
        (control("pass", "263902037430900"), True),
        (control("pass", OUR_APP), False),
        (control("pass", None), False),
    ],
)
async def test_a_thread_that_another_app_has_is_deferred(bench: Bench, event: ThreadControl, held: bool) -> None:
    await bench.receive(message("m1"), event)

    assert (await bench.due() == ()) is held
    assert await bench.sums() == {"received": 1, "open": 1}


async def test_without_our_apps_id_a_pass_is_to_us_and_a_take_from_us(scripts: Scripts, settings: Settings) -> None:
    env = settings.env.model_copy(update={"meta_app_id": ""})
    bench = Bench(scripts, settings.model_copy(update={"env": env}))

    await bench.receive(message("m1"), control("take", "1"))
    assert await bench.due() == ()
    await bench.receive(control("pass", "2"))

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_a_thread_passed_back_ends_the_deferral_now(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", "Минуту"))

    await bench.receive(control("pass", OUR_APP))

    lease, conversation = await bench.claim()
    assert conversation.takeover_until_ms == 0
    assert [m.text for m in conversation.messages] == ["Вопрос"]
    assert lease


async def test_taking_a_thread_that_is_held_answers_nothing(bench: Bench) -> None:
    await bench.receive(message("m1"), human("h1", "Минуту"), control("take", "263902037430900"))

    assert await bench.sums() == {"received": 1, "open": 1}


async def test_control_that_comes_twice_counts_once(bench: Bench) -> None:
    taken = control("take", "1")
    await bench.receive(message("m1"), taken, control("pass", OUR_APP))

    await bench.receive(taken)

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_after_a_humans_words_the_bot_discloses_again(bench: Bench) -> None:
    await bench.receive(message("m1"))
    lease, conversation = await bench.claim()
    await answered(bench.scripts, bench.settings, lease, conversation, fields={"disclosed": "1"})

    await bench.receive(human("h1"), control("pass", OUR_APP), message("m2"))

    _, conversation = await bench.claim()
    assert not conversation.disclosed
    assert conversation.history[-1] == HistoryLine(
        "business", "Здравствуйте, это Мария", conversation.history[-1].at_ms
    )


async def test_each_account_has_its_own_patience(scripts: Scripts, settings: Settings) -> None:
    accounts = (
        Account(channel=Channel.INSTAGRAM, id=INSTAGRAM, shift=ShiftOverride(takeover_minutes=0)),
        Account(channel=Channel.MESSENGER, id=INSTAGRAM),
    )
    config = settings.config.model_copy(update={"accounts": accounts})
    bench = Bench(scripts, settings.model_copy(update={"config": config}))
    other = Contact(Channel.MESSENGER, INSTAGRAM, CONTACT.customer_id)

    await bench.receive(message("m1"), human("h1"))
    await bench.receive(
        CustomerMessage(other, MessageKind.MESSAGE, "m2", now_ms(), "?"), Echo(other, "h2", now_ms(), "?")
    )

    assert await bench.due() == (CONTACT.conversation_id,)


async def test_an_unknown_account_is_told_of_once(bench: Bench) -> None:
    for _ in range(3):
        await bench.receive(Noted("unknown_account", "999"))
    await bench.receive(Noted("unknown_account", "888"))

    alerts = await bench.scripts.command("HGETALL", "ns:alerts")
    assert {name: orjson.loads(body)["count"] for name, body in dict(alerts).items()} == {
        "system:unknown_account:999": 1,
        "system:unknown_account:888": 1,
    }
    assert await bench.scripts.command("HGET", "ns:events", "unknown_account") == "4"
