"""What the Graph API gives back means the same as the webhook that should have brought it."""

from typing import Any

import pytest

from bot.incoming.backfill import ReadBack, read_row
from bot.incoming.events import Channel, Contact, CustomerMessage, Echo, Media, MediaKind

ACCOUNT, PAGE, CUSTOMER = "17841400000000042", "104400000000001", "9001000000000123"
CONTACT = Contact(Channel.INSTAGRAM, ACCOUNT, CUSTOMER)
OUR_IDS = frozenset({ACCOUNT, PAGE})
NOW_MS = 1_790_000_100_000
AT_MS = 1_790_000_000_000  # 2026-09-21T14:13:20 in UTC


def row(sender: str = CUSTOMER, to: str = ACCOUNT, **fields: Any) -> dict[str, Any]:
    parties = {"from": {"id": sender, "username": "invented"}, "to": {"data": [{"id": to}]}}
    return {"id": "aWdf_A001", "created_time": "2026-09-21T14:13:20+0000", **parties, **fields}


def read(fields: object) -> ReadBack:
    found = read_row(fields, now_ms=NOW_MS)
    assert found is not None
    return found


def customers(**fields: Any) -> CustomerMessage:
    event = read(row(**fields)).event(CONTACT, now_ms=NOW_MS, found="ghost_edit")
    assert isinstance(event, CustomerMessage)
    return event


def data(*values: object) -> dict[str, object]:
    return {"data": list(values)}


def test_a_customers_text() -> None:
    event = customers(message="Есть синяя?")

    assert (event.contact, event.mid, event.at_ms, event.text, event.notes) == (
        CONTACT,
        "aWdf_A001",
        AT_MS,
        "Есть синяя?",
        (),
    )
    assert (event.found, event.needs_text, event.closed_as) == ("ghost_edit", False, None)


@pytest.mark.parametrize(
    ("fields", "notes"),
    [
        (
            {"attachments": data({"mime_type": "image/jpeg", "image_data": {"url": "https://c.invalid/1"}})},
            ("[photo]",),
        ),
        ({"attachments": data({"video_data": {"url": "https://c.invalid/1"}})}, ("[video]",)),
        ({"attachments": data({"mime_type": "audio/mp4", "file_url": "https://c.invalid/1"})}, ("[voice message]",)),
        ({"attachments": data({"mime_type": "application/pdf", "name": "price.pdf"})}, ("[file: price.pdf]",)),
        ({"attachments": data({"generic_template": {"title": "Card"}})}, ('[template: "Card"]',)),
        ({"attachments": data({"id": "1"})}, ("[attachment: unknown]",)),
        ({"shares": data({"link": "https://c.invalid/p", "name": "A post"})}, ('[shared post: "A post"]',)),
        ({"story": {"mention": {"link": "https://c.invalid/s"}}}, ("[mentioned us in a story]",)),
        ({"story": {"reply_to": {"link": "https://c.invalid/s"}}, "message": "Love it"}, ("[reply to our story]",)),
        ({"reply_to": {"mid": "aWdf_A000"}, "message": "this one"}, ("[quotes an earlier message]",)),
    ],
)
def test_what_is_not_text_becomes_the_notes_of_a_webhook(fields: dict[str, Any], notes: tuple[str, ...]) -> None:
    assert customers(**fields).notes == notes


def test_a_picture_can_be_looked_at() -> None:
    photo = {"mime_type": "image/jpeg", "image_data": {"url": "https://c.invalid/1"}}

    assert customers(reply_to={"mid": "a"}, attachments=data(photo)).media == (
        Media(MediaKind.IMAGE, "https://c.invalid/1", 1),
    )


@pytest.mark.parametrize("fields", [{}, {"message": "\u200b \ufe0f"}, {"is_unsupported": True}])
def test_what_nobody_can_read_asks_for_text(fields: dict[str, Any]) -> None:
    event = customers(**fields)

    assert (event.text, event.notes, event.needs_text) == ("", ("[unsupported message]",), True)


def test_our_own_side_is_an_echo_at_the_end_of_its_second() -> None:
    event = read(row(ACCOUNT, CUSTOMER, message="Да")).event(CONTACT, now_ms=NOW_MS, found="look_back")

    assert event == Echo(CONTACT, "aWdf_A001", AT_MS + 999, "Да")
    assert event.found == "look_back"


def test_whose_conversation_it_is() -> None:
    def contact(sender: str, to: str) -> Contact | None:
        return read(row(sender, to)).contact(Channel.INSTAGRAM, ACCOUNT, OUR_IDS)

    assert contact(CUSTOMER, ACCOUNT) == CONTACT
    assert contact(CUSTOMER, PAGE) == CONTACT
    assert contact(ACCOUNT, CUSTOMER) == CONTACT
    assert contact(ACCOUNT, PAGE) is None
    assert contact(CUSTOMER, "17841499999999999") is None


@pytest.mark.parametrize("odd", [None, "", [], {}, {"id": None}, {"message": "x"}])
def test_without_an_id_there_is_nothing(odd: object) -> None:
    assert read_row(odd, now_ms=NOW_MS) is None


def test_a_bare_id_has_to_be_read_by_itself() -> None:
    assert read({"id": "a", "created_time": AT_MS // 1000}).is_bare
    assert not read(row()).is_bare


@pytest.mark.parametrize("odd", [{"from": "x", "to": 3}, {"attachments": [1], "shares": "", "story": 7, "reply_to": 1}])
def test_odd_values_raise_nothing(odd: dict[str, Any]) -> None:
    read({**row(), **odd}).event(CONTACT, now_ms=NOW_MS, found="reconcile")
