"""A manager answers from the phone, before, during and after a turn; and accounts that differ in everything."""

import asyncio
from collections.abc import Iterator

import pytest

from bot.incoming.events import Channel
from runtime.clock import now_ms
from runtime.settings import Account
from sandbox.meta.faults import Fault
from sandbox.meta.webhooks import WebhookItem
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import TAGS
from sandbox.stack import APP_ID, Stack, new_customer
from tests.end_to_end.people import Customer, begin_anew, since
from tests.end_to_end.test_meta_events import held_as

TAKEOVER_MINUTES = 0.04
ENGLISH, PATIENT = "104400000000777", "104400000000888"
MORE = f"""
[[accounts]]
channel = "messenger"
id = "{ENGLISH}"
token_env = "ENGLISH_TOKEN"
locale = "en"
model = "another/model"

[[accounts]]
channel = "messenger"
id = "{PATIENT}"
token_env = "PATIENT_TOKEN"
shift = {{ mode = "humans_first", humans_first_minutes = 60 }}
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    tokens = {"ENGLISH_TOKEN": "sandbox-english-token", "PATIENT_TOKEN": "sandbox-patient-token"}
    stack = Stack(
        tmp_path_factory.mktemp("takeover"),
        quiet=0.3,
        max_wait=1,
        takeover=TAKEOVER_MINUTES,
        disclosure=True,
        more=MORE,
        environment=tokens,
    )
    for account_id, token in zip((ENGLISH, PATIENT), tokens.values(), strict=True):
        stack.meta.accounts.append(Account(channel=Channel.MESSENGER, id=account_id, token=token))
    with stack:
        yield stack


@pytest.fixture
def stack(house: Stack) -> Stack:
    return begin_anew(house)


@pytest.fixture(params=["instagram", "messenger"])
def customer(stack: Stack, request: pytest.FixtureRequest) -> Customer:
    return Customer(stack, new_customer(), channel=request.param)


def on(stack: Stack, account_id: str) -> Customer:
    customer = Customer(stack, new_customer())
    customer.account = next(account for account in stack.meta.accounts if account.id == account_id)
    return customer


A_MINUTE_MS = 60_000  # right before a customer's first words, words of the account are an ad's greeting


def manager_says(stack: Stack, customer: Customer, text: str, *, ago_ms: int = 0) -> WebhookItem:
    return stack.meta.human(customer.id, text, account=customer.account, at_ms=now_ms() - ago_ms)


def prompt_of(stack: Stack, number: int = -1) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = stack.model.requests[number]["messages"]
    return messages


def test_a_manager_before_the_turn_only_delays_it_and_the_model_reads_their_words(
    stack: Stack, customer: Customer
) -> None:
    before = stack.ledger()

    customer.sends(customer.item("Есть синяя?"), manager_says(stack, customer, "Минуту, посмотрю"))

    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert any("Минуту, посмотрю" in str(message["content"]) for message in prompt_of(stack)[:-1])


def test_a_manager_who_writes_first_is_not_answered_for_and_the_model_reads_their_words(
    stack: Stack, customer: Customer
) -> None:
    before = stack.ledger()

    customer.sends(manager_says(stack, customer, "Ваш заказ готов", ago_ms=A_MINUTE_MS))
    customer.writes("Когда забрать?")
    assert held_as(stack, customer) == "human"
    assert not stack.model.requests

    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert any("Ваш заказ готов" in str(message["content"]) for message in prompt_of(stack)[:-1])


def test_a_manager_who_answers_before_the_turn_leaves_nothing_to_say(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    customer.sends(customer.item("Есть синяя?"), manager_says(stack, customer, "Минуту"))
    customer.sends(manager_says(stack, customer, "Да, две штуки"))

    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert customer.read == []
    assert not stack.model.requests


def test_a_manager_during_the_turn_drops_the_draft(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.model.script([Answer(content=f"Черновик\n{TAGS}", delay_seconds=1.5)])

    customer.writes("Есть синяя?")
    stack.wait_for(lambda: stack.model.requests, "the model to be asked")
    customer.sends(manager_says(stack, customer, "Сейчас"))
    customer.sends(manager_says(stack, customer, "Да, есть"))

    assert since(stack, before) == {"received": 1, "silenced": 1}
    assert customer.read == []


def test_a_manager_between_two_parts_is_not_talked_over(stack: Stack) -> None:
    customer = Customer(stack, new_customer())  # on Instagram, where a reply has more than two parts
    before = stack.ledger()
    stack.meta.echo = "before"
    sentences = [f"Предложение номер {i} рассказывает о кружке подробно и не спеша." for i in range(40)]
    stack.model.script([f"{' '.join(sentences)}\n{TAGS}"])

    stack.meta.fault_for(customer.id, *[Fault("slow", seconds=0.7)] * 10)
    customer.writes("Расскажите всё")
    customer.waits_for(1)
    customer.sends(manager_says(stack, customer, "Стоп, отвечу сама"))

    assert since(stack, before) == {"received": 1, "answered": 1}
    # The part that was on its way arrives; what had not begun is not sent.
    assert len(customer.read) <= 2


def test_a_manager_after_the_turn_has_the_next_message_and_the_bot_comes_back_by_itself(
    stack: Stack, customer: Customer
) -> None:
    customer.writes("Есть синяя?")
    first = customer.waits_for(1)[0]
    customer.sends(manager_says(stack, customer, "И ещё скидка сегодня"))

    customer.writes("Какая?")

    second = customer.waits_for(2)[1]
    assert "автоматический помощник" in first
    assert "автоматический помощник" in second
    assert any("И ещё скидка сегодня" in str(message["content"]) for message in prompt_of(stack)[:-1])
    customer.writes("Спасибо")
    assert "автоматический помощник" not in customer.waits_for(3)[2]


def test_an_echo_before_the_answer_of_the_send_is_ours(stack: Stack, customer: Customer) -> None:
    stack.meta.echo = "before"

    customer.writes("Раз")
    customer.waits_for(1)
    customer.writes("Два")

    assert len(customer.waits_for(2)) == 2


def test_a_thread_taken_and_passed_back_is_answered_at_once(stack: Stack) -> None:
    person = Customer(stack, new_customer(), channel="messenger")
    before = stack.ledger()

    def control(kind: str, owner: str, at_ms: int) -> WebhookItem:
        parties = {"sender": {"id": person.id}, "recipient": {"id": person.account.id}, "timestamp": at_ms}
        return WebhookItem(person.account, {**parties, f"{kind}_thread_control": {"new_owner_app_id": owner}})

    taken_at = now_ms()
    person.sends(person.item("Hello"), control("take", "263902037430900", taken_at))
    person.sends(control("pass", APP_ID, taken_at + 1))

    person.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}


def test_accounts_keep_their_own_locale_model_and_token(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    english = on(stack, ENGLISH)

    asyncio.run(stack.meta.deliver(customer.item("😊"), english.item("😊")))

    ru, en = customer.waits_for(1)[0], english.waits_for(1)[0]
    assert since(stack, before) == {"received": 2, "answered": 2}
    assert "автоматический помощник" in ru
    assert "автоматический" not in en
    assert {m["account"] for m in stack.meta.sent if m["to"] == english.id} == {ENGLISH}
    by_model = {request["model"]: request["messages"][0]["content"] for request in stack.model.requests}
    assert set(by_model) == {"deepseek/deepseek-v4-pro", "another/model"}
    assert by_model["another/model"] != by_model["deepseek/deepseek-v4-pro"]


def test_people_first_on_one_account_does_not_hold_up_another(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    patient = on(stack, PATIENT)

    asyncio.run(stack.meta.deliver(patient.item("Привет"), customer.item("Привет")))

    customer.waits_for(1)
    assert not patient.read
    patient.sends(manager_says(stack, patient, "Здравствуйте!"))
    assert since(stack, before) == {"received": 2, "answered": 1, "silenced": 1}
    assert not patient.read
