"""The main job, end to end: a signed webhook goes in, the customer reads a reply, and the books say so."""

import asyncio

import httpx
import pytest

from sandbox.meta import webhooks as meta_webhooks
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import DEMO_TEXTS, LOCKED_FOR_GOOD, LOCKED_ONCE, SMALL_TALK, TAGS, TOOL_HUNGRY
from sandbox.patience import PATIENCE_SECONDS
from sandbox.stack import APP_SECRET, Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, since
from tests.waiting import polls


def test_a_burst_of_three_messages_is_answered_once(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    customer.writes("Добрый день!", "Подскажите,", "сколько стоит кружка «Туман»? 😊")

    reply = customer.waits_for(1)
    assert since(stack, before) == {"received": 3, "answered": 3}
    assert customer.read == reply
    assert "1900" in reply[0]
    burst = stack.model.requests[0]["messages"][-1]["content"]
    assert burst == "Добрый день!\nПодскажите,\nсколько стоит кружка «Туман»? 😊"


def test_the_same_webhook_five_times_is_one_message(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    item = customer.item("Привет")

    for _ in range(5):
        customer.sends(item)

    customer.waits_for(1)
    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) == 1


def test_a_customer_who_never_stops_writing_is_answered_at_the_cap(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    count = 0
    for _ in polls(PATIENCE_SECONDS, every_seconds=0.15):  # shorter than the quiet time: only the cap ends the burst
        if customer.read:
            break
        customer.writes(f"и ещё {count}")
        count += 1

    assert customer.read
    assert since(stack, before) == {"received": count, "answered": count}


@pytest.mark.parametrize("signature", ["", "sha256=" + "0" * 64, "sha1=abc", None])
def test_a_forged_signature_is_refused_and_nothing_happens(
    stack: Stack, customer: Customer, signature: str | None
) -> None:
    before = stack.ledger()
    body = meta_webhooks.webhook_bodies([customer.item("forged")], at_ms=1)[0]

    headers = {} if signature is None else {"X-Hub-Signature-256": signature}
    answer = httpx.post(f"{stack.url}/webhooks/meta", content=body, headers=headers, trust_env=False)

    assert answer.status_code in (401, 403)
    assert stack.ledger()["received"] == before["received"]


def test_two_customers_at_once_get_each_their_own_reply(stack: Stack) -> None:
    before = stack.ledger()
    people = [Customer(stack, new_customer(), channel=channel) for channel in ("instagram", "messenger")]

    asyncio.run(
        stack.meta.deliver(people[0].item("Сколько стоит кружка «Туман»?"), people[1].item("Hello, how are you?"))
    )

    first, second = (person.waits_for(1) for person in people)
    assert "1900" in first[0]
    assert "Thank you" in second[0]
    assert since(stack, before) == {"received": 2, "answered": 2}


@pytest.mark.parametrize(
    "tags", [TAGS, "[VERDICT:CHAT:WARM][TASK:NONE]", "STAGE: CONSULT", "[verdict: chat_only", "```\n" + TAGS + "\n```"]
)
def test_tags_never_reach_a_customer(stack: Stack, customer: Customer, tags: str) -> None:
    stack.model.script([f"Кружки есть, приходите!\n{tags}"])

    customer.writes("Есть кружки?")

    assert customer.waits_for(1) == ["Кружки есть, приходите!"]


def test_a_long_reply_arrives_in_parts_that_the_channel_takes(stack: Stack, customer: Customer) -> None:
    long = " ".join(f"Предложение номер {i} рассказывает о кружке подробно." for i in range(40))
    stack.model.script([f"{long}\n{TAGS}"])
    before = stack.ledger()

    customer.writes("Расскажите всё")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert len(customer.read) > 2
    assert all(len(part.encode()) <= 1000 for part in customer.read)
    assert " ".join(customer.read) == long


def test_small_talk_is_answered_without_a_script(stack: Stack, customer: Customer) -> None:
    customer.writes(DEMO_TEXTS[SMALL_TALK]["ru"])

    assert customer.waits_for(1)[0]
    assert not stack.telegram.messages


def test_reasoning_lock_once_is_rescued_by_the_kick(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    customer.writes(DEMO_TEXTS[LOCKED_ONCE]["ru"])

    assert customer.waits_for(1)[0]
    assert since(stack, before) == {"received": 1, "answered": 1}
    first, second = stack.model.requests
    assert second["messages"][0]["content"].startswith(first["messages"][0]["content"])
    assert len(second["messages"][0]["content"]) > len(first["messages"][0]["content"])
    assert not stack.telegram.messages


def test_reasoning_lock_for_good_ends_in_the_stub_and_one_alert(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    customer.writes(DEMO_TEXTS[LOCKED_FOR_GOOD]["ru"])

    reply = customer.waits_for(1)
    assert "коллеге" in reply[0]
    assert since(stack, before) == {"received": 1, "handed_over": 1}
    [alert] = stack.telegram.wait_for_messages(1)
    assert "Instagram" in alert["text"] or "instagram" in alert["text"]
    assert DEMO_TEXTS[LOCKED_FOR_GOOD]["ru"] not in alert["text"]
    assert len(stack.model.requests) == 4
    assert len({request["model"] for request in stack.model.requests}) == 2


def test_a_stub_does_not_silence_the_bot(stack: Stack, customer: Customer) -> None:
    customer.writes(DEMO_TEXTS[LOCKED_FOR_GOOD]["ru"])
    customer.waits_for(1)

    customer.writes("Сколько стоит кружка «Туман»?")

    assert "1900" in customer.waits_for(2)[1]


def test_a_tool_hungry_turn_ends_at_the_forced_last_step(stack: Stack, customer: Customer) -> None:
    customer.writes(DEMO_TEXTS[TOOL_HUNGRY]["ru"])

    assert customer.waits_for(1)[0]
    requests = stack.model.requests
    assert len(requests) == 20
    assert {request.get("tool_choice") for request in requests[:-1]} == {None}
    assert requests[-1]["tool_choice"] == "none"
    assert requests[-1]["messages"][0]["content"].startswith(requests[0]["messages"][0]["content"])


def test_messages_that_come_while_the_model_thinks_are_answered_in_the_same_reply(
    stack: Stack, customer: Customer
) -> None:
    before = stack.ledger()
    stack.model.script([Answer(content=f"Первый ответ\n{TAGS}", delay_seconds=1.5), f"Ответ на всё\n{TAGS}"])

    customer.writes("Первый вопрос")
    stack.wait_for(lambda: stack.model.requests, "the model to be asked")
    customer.writes("И второй")

    assert since(stack, before) == {"received": 2, "answered": 2}
    assert customer.read == ["Ответ на всё"]


def test_a_humans_words_drop_the_draft_and_defer_the_conversation(stack: Stack, customer: Customer) -> None:
    stack.model.script([Answer(content=f"Черновик\n{TAGS}", delay_seconds=2)])

    customer.writes("Вопрос")
    stack.wait_for(lambda: stack.model.requests, "the model to be asked")
    customer.sends(stack.meta.human(customer.id, "Здравствуйте, это Мария", account=customer.account))
    customer.writes("О, привет!")
    customer.sends(stack.meta.human(customer.id, "Отвечаю сама", account=customer.account))

    all_closed(stack)
    assert stack.ledger()["silenced"] >= 2
    assert not [text for text in customer.read if text == "Черновик"]


def test_a_photo_without_words_is_answered_from_its_placeholder(stack: Stack, customer: Customer) -> None:
    customer.sends(stack.meta.attachment(customer.id, account=customer.account))

    assert customer.waits_for(1)[0]
    assert "[photo]" in stack.model.requests[0]["messages"][-1]["content"]


def test_what_nobody_can_open_gets_a_fixed_line_and_no_model_is_paid(stack: Stack, customer: Customer) -> None:
    customer.sends(customer.item("", extra={"is_unsupported": True}))

    assert customer.waits_for(1)[0]
    assert not stack.model.requests


def test_a_customer_who_asks_for_a_human_gets_one(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    customer.writes("Позовите оператора, пожалуйста")

    assert customer.waits_for(1)[0]
    assert since(stack, before) == {"received": 1, "handed_over": 1}
    stack.telegram.wait_for_messages(1)
    customer.writes("Алло?")
    stack.wait_for(lambda: stack.ledger()["open"] == 1, "the message to wait for the human")
    assert not stack.model.requests

    customer.sends(stack.meta.human(customer.id, "Здравствуйте, это Мария", account=customer.account))

    assert since(stack, before) == {"received": 2, "handed_over": 1, "silenced": 1}


def test_the_sandbox_signs_with_one_of_several_secrets(stack: Stack) -> None:
    assert stack.environment["META_APP_SECRETS"].split(",")[1] == APP_SECRET


@pytest.mark.parametrize("signed", [True, False])
def test_a_body_that_is_too_large_gets_an_answer_and_not_a_broken_connection(stack: Stack, signed: bool) -> None:
    body = b"x" * (9 * 1024 * 1024)
    headers = {"X-Hub-Signature-256": meta_webhooks.sign(body, APP_SECRET)} if signed else {}

    answers = [
        httpx.post(
            f"{stack.url}/webhooks/meta", content=body, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False
        ).status_code
        for _ in range(5)
    ]

    assert set(answers) == {413 if signed else 403}
