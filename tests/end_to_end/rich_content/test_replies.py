"""Link buttons, pictures, files and reactions: sent beside the words, never in their place, and never twice."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from bot.incoming.events import conversation_id
from sandbox.meta.faults import Fault
from sandbox.meta.webhooks import echo_item
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed, since
from tests.end_to_end.rich_content.structured import BOOK, PAGE, PHOTO, PRICES, SHOP, WORDS, knows, reply, seen_by


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("structured"), quiet=0.3, max_wait=1, budget=12, takeover=0.02) as stack:
        yield stack


@pytest.fixture(params=["instagram", "messenger"])
def customer(stack: Stack, request: pytest.FixtureRequest) -> Customer:
    return Customer(stack, new_customer(), channel=request.param)


@pytest.fixture
def on_instagram(stack: Stack) -> Customer:
    return Customer(stack, new_customer())


def test_all_of_it_goes_out_beside_the_words(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, PAGE, PHOTO, PRICES)
    before = stack.ledger()
    elements = (
        f"[LINK: Посмотреть | {PAGE}]",
        f"[IMAGE: {PHOTO} | Кружка]",
        f"[ФАЙЛ: {PRICES}]",
        "[REACT: ❤]",
    )
    stack.model.play_for_good(reply(*elements))

    asked = customer.item("Сколько стоит кружка?")
    customer.sends(asked)

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert seen_by(stack, customer) == [
        {"text": WORDS, "links": [{"title": "Посмотреть", "url": PAGE}]},
        {"text": "", "image": PHOTO},
        {"text": "", "file": PRICES},
    ]
    reactions = [action for action in stack.meta.actions if action["action"] == "react"]
    assert [(r["to"], r["message_id"], r["reaction"]) for r in reactions] == [
        (customer.id, asked.item["message"]["mid"], "love")
    ]
    assert stack.telegram.messages == []


@pytest.mark.parametrize("echo", ["before", "after"])
def test_our_own_echoes_without_words_are_no_takeover(stack: Stack, customer: Customer, echo: Any) -> None:
    stack.meta.echo = echo
    knows(stack, customer, PAGE, PHOTO)
    stack.model.play_for_good(reply(f"[LINK: Посмотреть | {PAGE}]", f"[IMAGE: {PHOTO}]"))
    customer.writes("Сколько стоит кружка?")
    customer.waits_for(2)
    before = all_closed(stack)

    customer.writes("А ещё?")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert [text for text in customer.read if text] == [WORDS, WORDS]


def test_a_photo_from_a_colleagues_phone_still_is_a_takeover(stack: Stack, on_instagram: Customer) -> None:
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO}]"))
    photo = {"type": "image", "payload": {"url": "https://cdn.example.invalid/by-phone"}}
    account = on_instagram.account
    item = echo_item(account, on_instagram.id, at_ms=int(stack.meta.store.clock() * 1000), attachments=[photo])
    asked = on_instagram.item("Сколько стоит кружка?")

    on_instagram.sends(asked, item)

    on_instagram.waits_for(1)
    prompt = stack.model.requests[-1]["messages"]
    assert {"role": "assistant", "content": "[photo]"} in prompt


def test_what_was_sent_stands_in_the_history(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, PAGE, PHOTO)
    stack.model.play_for_good(reply(f"[LINK: Посмотреть | {PAGE}]", f"[IMAGE: {PHOTO} | Кружка]"))
    customer.writes("Сколько стоит кружка?")
    customer.waits_for(2)

    customer.writes("Красивая!")

    customer.waits_for(4)
    said = [message["content"] for message in stack.model.requests[-1]["messages"] if message["role"] == "assistant"]
    assert said[-1] == f"{WORDS}\n\nПосмотреть: {PAGE}\n[image: Кружка: {PHOTO}]"


def test_an_address_that_the_model_made_up_is_dropped_and_the_words_stay(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    invented = (f"[LINK: Каталог | {SHOP}/invented]", "[IMAGE: https://example.com/mug.jpg]", f"[FILE: {PRICES}]")
    stack.model.play_for_good(reply(*invented))

    customer.writes(f"Пришлите {PRICES}")  # what a customer writes is no ground either

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert seen_by(stack, customer) == [{"text": WORDS}]


def test_what_the_search_found_is_known(stack: Stack, on_instagram: Customer) -> None:
    on_instagram.writes("Сколько стоит кружка «Туман»?")

    on_instagram.waits_for(1)

    [seen] = [message for message in seen_by(stack, on_instagram) if message["text"]]
    assert [link["url"] for link in seen["links"]] == [PAGE]


@pytest.mark.parametrize(("code", "subcode"), [(100, 2534015), (3, None)])
def test_a_refused_link_button_becomes_text(stack: Stack, customer: Customer, code: int, subcode: int | None) -> None:
    knows(stack, customer, PAGE)
    before = stack.ledger()
    stack.model.play_for_good(reply(f"[LINK: Посмотреть | {PAGE}]"))
    stack.meta.refuse_next(code, subcode)

    customer.writes("Сколько стоит кружка?")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert seen_by(stack, customer) == [{"text": f"{WORDS}\n\nПосмотреть: {PAGE}"}]


def test_quick_replies_stay_and_links_beside_them_are_text(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, PAGE)
    stack.model.play_for_good(reply("[BUTTONS: Да | Нет]", f"[LINK: Посмотреть | {PAGE}]"))

    customer.writes("Сколько стоит кружка?")

    customer.waits_for(1)
    assert seen_by(stack, customer) == [{"text": f"{WORDS}\n\nПосмотреть: {PAGE}", "buttons": ["Да", "Нет"]}]


def test_a_file_that_instagram_does_not_take_is_a_line_of_text(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, BOOK)
    stack.model.play_for_good(reply(f"[FILE: {BOOK} | Прайс]"))

    customer.writes("Пришлите прайс")

    if customer.account.channel == "instagram":
        assert customer.waits_for(1) == [f"{WORDS}\n\nПрайс: {BOOK}"]
    else:
        customer.waits_for(2)
        assert seen_by(stack, customer)[1] == {"text": "", "file": BOOK}


def test_a_refused_picture_falls_back_to_its_address_once(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, PHOTO)
    before = stack.ledger()
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO} | Кружка]"))
    stack.meta.fault_for(customer.id, Fault("slow", seconds=0), Fault("refuse", code=100, subcode=2018008))

    customer.writes("Покажите кружку")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS, f"Кружка: {PHOTO}"]
    assert stack.telegram.messages == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault("cut", delivered=True),
        Fault("cut"),
        Fault("garbage", delivered=True),
        Fault("refuse", code=1),
        Fault("refuse", code=613),
        Fault("refuse", code=190),
        Fault("refuse", code=551),
        Fault("refuse", code=10, subcode=2534022),
    ],
)
def test_whatever_befalls_a_picture_the_reply_is_answered(stack: Stack, customer: Customer, fault: Fault) -> None:
    knows(stack, customer, PHOTO)
    before = stack.ledger()
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO}]", f"[IMAGE: {PHOTO}?2]"))
    stack.meta.fault_for(customer.id, Fault("slow", seconds=0), fault)

    customer.writes("Покажите кружку")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS, *([""] if fault.delivered else [])]
    assert stack.telegram.messages == []

    customer.writes("А другую?")  # nor has its echo, late or not, kept the bot out
    assert since(stack, before)["answered"] == 2


def test_a_failed_reaction_is_nobodys_trouble(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()
    stack.model.play_for_good(reply("[REACT: ❤]"))
    stack.meta.fault_for(
        customer.id, *[Fault("refuse", code=100)] * 5, on="actions"
    )  # "seen" and typing meet them, too

    customer.writes("Спасибо!")

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS]
    assert not [action for action in stack.meta.actions if action["action"] == "react"]


def test_a_message_taken_back_gets_no_reaction(stack: Stack, customer: Customer) -> None:
    stack.model.play_for_good(reply("[REACT: ❤]"))
    stack.meta.fault_for(customer.id, Fault("slow", seconds=1.5))
    before = stack.ledger()
    asked = customer.item("Какая красота!")
    customer.sends(asked)
    stack.wait_for(lambda: len(stack.model.requests) >= 1, "the turn to think")
    mid = asked.item["message"]["mid"]
    stack.wait_for(lambda: _is_sending(stack), "the words to be on their way")

    customer.sends(stack.meta.text(customer.id, "", account=customer.account, mid=mid, extra={"is_deleted": True}))

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert not [action for action in stack.meta.actions if action["action"] == "react"]


def _is_sending(stack: Stack) -> bool:
    return not stack.meta.faults_left()


def test_a_human_between_words_and_pictures_drops_the_pictures(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, PHOTO)
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO}]"))
    before = stack.ledger()
    stack.meta.fault_for(customer.id, Fault("slow", seconds=1.5))
    customer.writes("Покажите кружку")
    stack.wait_for(lambda: _is_sending(stack), "the words to be on their way")

    customer.sends(stack.meta.human(customer.id, "Здравствуйте, это Мария", account=customer.account))

    assert since(stack, before) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS]


def test_the_way_without_quick_replies_is_a_try_of_its_own(stack: Stack, customer: Customer) -> None:
    stack.model.play_for_good(reply("[BUTTONS: Да | Нет]"))
    stack.meta.refuse_next(100, 2018294)
    before = stack.ledger()
    customer.writes("Кружка есть?")
    assert since(stack, before) == {"received": 1, "answered": 1}

    assert customer.read == [WORDS]
    assert events_of(stack, customer) == ["sending", "failed", "sending", "sent"]


def events_of(stack: Stack, customer: Customer) -> list[str]:
    """What the ledger tells of the first part."""
    cid = conversation_id(customer.account.channel, customer.account.id, customer.id)
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as client:
        entries: Any = client.xrange("ns:ledger")
    of_part = [fields for _, fields in entries if fields["c"] == cid and fields["w"].startswith("part 0")]
    return [fields["e"] for fields in of_part]
