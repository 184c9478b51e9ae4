"""What Meta does not deliver by webhook: read back from Meta, answered once, and never talked over a manager."""

import re
import time
from collections.abc import Iterator

import httpx
import pytest
import redis

from bot.incoming.events import Channel
from runtime import queue
from runtime.settings import Account, Config, Environment, Settings
from sandbox.meta.webhooks import WebhookItem, human_echo_item
from sandbox.model.shop_assistant import TAGS
from sandbox.stack import Stack, new_customer
from store.keys import FIRST_SEEN, RECONCILED
from tests.end_to_end.people import Customer, all_closed, since
from tests.end_to_end.test_meta_events import held_as

CAREFUL = "104400000000777"
MORE = f"""
[[accounts]]
channel = "messenger"
id = "{CAREFUL}"
token_env = "CAREFUL_TOKEN"
shift = {{ look_back = true }}

[reconcile]
minutes = 0.001
"""
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    tokens = {"CAREFUL_TOKEN": "sandbox-careful-token"}
    stack = Stack(tmp_path_factory.mktemp("reading-back"), budget=12, more=MORE, environment=tokens)
    stack.meta.accounts.append(Account(channel=Channel.MESSENGER, id=CAREFUL, token=tokens["CAREFUL_TOKEN"]))
    with stack:
        yield stack


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return Customer(stack, new_customer())


def now_ms() -> int:
    return int(time.time() * 1000)


def store_of(stack: Stack) -> redis.Redis:
    return redis.Redis.from_url(stack.valkey.url, decode_responses=True)


def counted(stack: Stack, kind: str) -> int:
    with store_of(stack) as store:
        return int(str(store.hget("ns:events", kind) or 0))


def mid_of(item: WebhookItem) -> str:
    return str(item.item["message"]["mid"])


# An edit numbered 0 in the place of a new message.


@pytest.mark.parametrize("has_parties", [False, True])
@pytest.mark.parametrize("channel", ["instagram", "messenger"])
def test_a_message_that_only_a_ghost_edit_tells_of_is_answered(stack: Stack, channel: str, has_parties: bool) -> None:
    before, customer = stack.ledger(), Customer(stack, new_customer(), channel=channel)
    item = customer.item("Есть синяя кружка?")
    stack.meta.lose(item)
    stack.model.play_for_good(f"Есть\n{TAGS}")

    customer.sends(
        stack.meta.ghost_edit(customer.id, account=customer.account, mid=mid_of(item), has_parties=has_parties)
    )

    assert customer.waits_for(1) == ["Есть"]
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert stack.model.requests[-1]["messages"][-1]["content"] == "Есть синяя кружка?"


@pytest.mark.parametrize("webhook", ["before", "after"])
def test_with_its_webhook_beside_it_is_answered_once_and_not_read_in_vain(
    stack: Stack, customer: Customer, webhook: str
) -> None:
    before, item = stack.ledger(), customer.item("Привет")
    ghost = stack.meta.ghost_edit(customer.id, mid=mid_of(item))

    customer.sends(*([item, ghost] if webhook == "before" else [ghost, item]))

    customer.waits_for(1)
    stack.wait_for(lambda: unread(stack) == 0, "nothing to be left to read")
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1
    assert stack.meta.served["reads"] == 0


def test_its_webhook_after_it_was_read_is_a_duplicate(stack: Stack, customer: Customer) -> None:
    before, item = stack.ledger(), customer.item("Привет")
    stack.meta.lose(item)
    customer.sends(stack.meta.ghost_edit(customer.id, mid=mid_of(item)))
    customer.waits_for(1)
    doubles = counted(stack, "duplicate")

    customer.sends(item)

    assert counted(stack, "duplicate") == doubles + 1
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1


def test_what_is_attached_to_it_reads_as_in_a_webhook(stack: Stack, customer: Customer) -> None:
    item = stack.meta.attachment(customer.id, url="https://cdn.example.invalid/x1")
    stack.meta.lose(item)

    customer.sends(stack.meta.ghost_edit(customer.id, mid=mid_of(item)))

    customer.waits_for(1)
    assert stack.model.requests[-1]["messages"][-1]["content"] == "[photo]"
    all_closed(stack)


def test_a_managers_message_that_only_a_ghost_edit_tells_of_is_an_echo(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    item = stack.meta.human(customer.id, "Добрый день, это Мария")
    stack.meta.lose(item)

    customer.sends(stack.meta.ghost_edit(customer.id, mid=mid_of(item)))
    stack.wait_for(lambda: unread(stack) == 0, "it to be read")
    customer.writes("Здравствуйте")

    assert held_as(stack, customer) == "human"
    customer.sends(stack.meta.human(customer.id, "Слушаю вас"))
    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert not stack.model.requests


def test_a_worker_killed_while_it_reads_loses_nothing(stack: Stack, customer: Customer) -> None:
    before, item = stack.ledger(), customer.item("Привет")
    stack.meta.lose(item)
    stack.meta.hang_next(20, on="reads")

    customer.sends(stack.meta.ghost_edit(customer.id, mid=mid_of(item)))
    stack.wait_for(lambda: stack.meta.faults_left() == 0, "the read to begin")
    stack.kill("worker")
    stack.spawn("worker")

    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1


# A look back before answering.


@pytest.fixture
def of_the_careful(stack: Stack) -> Customer:
    """A customer of the account that looks back."""
    person = Customer(stack, new_customer())
    person.account = stack.meta.account(account_id=CAREFUL)
    return person


def test_a_manager_whose_echo_never_comes_is_not_talked_over(stack: Stack, of_the_careful: Customer) -> None:
    before, customer = stack.ledger(), of_the_careful
    question = customer.item("Есть синяя?", at_ms=now_ms() - 3000)
    stack.meta.lose(
        question, human_echo_item(customer.account, customer.id, at_ms=now_ms() - 1000, text="Сейчас посмотрю")
    )

    customer.sends(question)

    stack.wait_for(lambda: held_as(stack, customer) == "human", "the manager to be noticed")
    customer.sends(stack.meta.human(customer.id, "Да, две штуки", account=customer.account))
    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert not customer.read
    assert not stack.model.requests


def test_own_parts_and_a_failed_look_hold_up_nothing(stack: Stack, of_the_careful: Customer) -> None:
    before, customer = stack.ledger(), of_the_careful
    customer.writes("Раз")
    customer.waits_for(1)
    looked = stack.meta.served["reads"]
    customer.writes("Два")
    customer.waits_for(2)
    stack.meta.refuse_next(1, on="reads")
    customer.writes("Три")
    customer.waits_for(3)

    assert since(stack, before) == {"received": 3, "answered": 3}
    assert looked >= 1
    assert stack.meta.faults_left() == 0


def test_accounts_that_do_not_ask_for_it_do_not_look_back(stack: Stack, customer: Customer) -> None:
    customer.writes("Привет")
    customer.waits_for(1)

    assert stack.meta.served["reads"] == 0
    all_closed(stack)


# The conversations looked through for what no webhook has brought.


def test_a_message_whose_webhook_was_lost_is_answered_once(stack: Stack, customer: Customer) -> None:
    before, found = stack.ledger(), counted(stack, "found_by_reconcile")
    seen_since(stack, minutes=30)
    stack.meta.lose(customer.item("Вы работаете?", at_ms=now_ms() - 2 * MINUTE_MS))

    assert reconciled(stack) == "1 found"
    customer.waits_for(1)
    assert reconciled(stack) == "nothing lost"

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1
    assert counted(stack, "found_by_reconcile") == found + 1
    metrics = httpx.get(f"{stack.url}/metrics", trust_env=False).text
    assert f"nightshift_reconciled_messages_total {found + 1}.0" in metrics


def test_what_came_before_the_installation_is_left_alone(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    seen_since(stack, minutes=3)
    stack.meta.lose(customer.item("Вчерашнее", at_ms=now_ms() - 4 * MINUTE_MS))

    assert reconciled(stack) == "nothing lost"
    assert since(stack, before) == {}
    assert not customer.read


def test_a_lost_message_that_a_manager_has_answered_is_closed(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    seen_since(stack, minutes=30)
    stack.meta.lose(
        customer.item("Есть синяя?", at_ms=now_ms() - 20 * MINUTE_MS),
        stack.meta.human(customer.id, "Да", at_ms=now_ms() - 19 * MINUTE_MS),
    )

    assert reconciled(stack) == "1 found"

    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert not customer.read


def test_many_lost_ones_are_an_incident(stack: Stack) -> None:
    before = stack.ledger()
    seen_since(stack, minutes=30)
    people = [Customer(stack, new_customer()) for _ in range(12)]  # more than a page of them
    stack.meta.lose(*(person.item("Вы тут?", at_ms=now_ms() - 2 * MINUTE_MS) for person in people))

    assert reconciled(stack) == "12 found"

    [alert] = stack.telegram.wait_for_messages(1)
    assert "найдено 12" in alert["text"]
    assert since(stack, before) == {"received": 12, "answered": 12}
    assert [len(person.read) for person in people] == [1] * 12
    assert reconciled(stack) == "nothing lost"
    assert "Вебхуки снова доходят" in stack.telegram.wait_for_messages(2)[1]["text"]


def unread(stack: Stack) -> int:
    with store_of(stack) as store:
        return int(str(store.hlen("ns:unread")))


def seen_since(stack: Stack, *, minutes: int) -> None:
    """As if the installation were so old, and had never looked."""
    with store_of(stack) as store:
        for account in stack.meta.accounts:
            store.hset(FIRST_SEEN, f"{account.channel} {account.id}", str(now_ms() - minutes * MINUTE_MS))
        store.delete(RECONCILED)


def reconciled(stack: Stack) -> str:
    """Send the task as beat does; the word that Flower shows."""
    settings = Settings(env=Environment(redis_url=stack.valkey.url), config=Config())
    with queue.make_celery(settings) as app:
        task = app.send_task(queue.RECONCILE).id
    pattern = re.compile(rf"Task reconcile\[{task}\] succeeded in [^:]*: '([^']*)'")
    log = stack.directory / "worker.log"
    return str(stack.wait_for(lambda: pattern.search(log.read_text(encoding="utf-8")), "the look to end")[1])
