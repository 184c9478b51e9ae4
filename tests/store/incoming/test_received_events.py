"""What receive.lua is told of each kind of event."""

import orjson
import pytest

from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    Media,
    MediaKind,
    MessageKind,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
)
from bot.outcome import SilenceReason
from store.assembly.event_fields import (
    FIELDS_OF_KIND,
    EchoFields,
    EditFields,
    Fields,
    MessageFields,
    NotedFields,
    PolicyFields,
    ThreadControlFields,
    UnreadFields,
)
from store.hashing import key_of, text_hash
from store.incoming.received_events import fields_of

INSTAGRAM = Contact(Channel.INSTAGRAM, "17841400000000042", "9001000000000123")
MESSENGER = Contact(Channel.MESSENGER, "104400000000001", "7000000000000011")
OUR_APP = "555000111222333"

EVENTS: dict[str, Event] = {
    "message": CustomerMessage(INSTAGRAM, MessageKind.MESSAGE, "m1", 7, "Привет"),
    "echo": Echo(INSTAGRAM, "e1", 7, "Здравствуйте"),
    "late_echo": Echo(INSTAGRAM, "e1", 7, "Здравствуйте", found="reconciled"),
    "edit": Edit(INSTAGRAM, "m1", 7, "Пока", 2),
    "deletion": Deletion(INSTAGRAM, "m1", 7),
    "action": CustomerAction(INSTAGRAM, "reaction", 7),
    "thread_control": ThreadControl(INSTAGRAM, "take", 7, "1"),
    "policy": PolicyEnforcement(Channel.INSTAGRAM, INSTAGRAM.account_id, "block", 7, "spam"),
    "unread": Noted("ghost", INSTAGRAM.account_id, unread=UnreadMessage(Channel.INSTAGRAM, "1", "m1", 7)),
    "noted": Noted("read", INSTAGRAM.account_id),
}


def fields(event: Event, *, app_id: str = OUR_APP, media_kinds: frozenset[str] = frozenset()) -> Fields:
    return fields_of(event, app_id=app_id, media_kinds=media_kinds, now_ms=1_700_000_000_000)


def test_each_kind_has_an_event_here() -> None:
    assert EVENTS.keys() == FIELDS_OF_KIND.keys()


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_is_of_its_kind_and_all_of_it_is_text(kind: str) -> None:
    found = fields(EVENTS[kind])

    assert found.kind == kind
    assert type(found) is FIELDS_OF_KIND[kind]
    assert {type(value) for value in found} <= {str, bytes}


def test_a_message_is_told_with_its_keys_and_its_words() -> None:
    found = fields(CustomerMessage(INSTAGRAM, MessageKind.POSTBACK, "m1", 7, "Цены", found="sweep"))

    assert found == MessageFields(
        kind="message",
        cid=INSTAGRAM.conversation_id,
        channel="instagram",
        account_id=INSTAGRAM.account_id,
        customer_id=INSTAGRAM.customer_id,
        key=key_of("postback", "m1"),
        at="7",
        reason="",
        deletion_key=key_of("deletion", "m1"),
        found="sweep",
        body=orjson.dumps({"mid": "m1", "kind": "postback", "at": 7, "text": "Цены"}),
    )


def test_a_message_that_gets_no_answer_says_why() -> None:
    found = fields(CustomerMessage(INSTAGRAM, MessageKind.MESSAGE, "m1", 7, closed_as=SilenceReason.STANDBY))

    assert isinstance(found, MessageFields)
    assert found.reason == "standby"


def test_only_addresses_that_somebody_reads_are_kept() -> None:
    media = (Media(MediaKind.AUDIO, "https://a", 0), Media(MediaKind.IMAGE, "https://b", 1))
    message = CustomerMessage(INSTAGRAM, MessageKind.MESSAGE, "m1", 7, notes=("[voice]", "[photo]"), media=media)

    bodies = []
    for kinds in (frozenset[str](), frozenset({"audio"})):
        found = fields(message, media_kinds=kinds)
        assert isinstance(found, MessageFields)
        bodies.append(orjson.loads(found.body))

    assert "media" not in bodies[0]
    assert bodies[1]["media"] == [["audio", "https://a", 0]]


def test_an_echo_is_told_with_what_shows_that_it_is_ours() -> None:
    found = fields(Echo(INSTAGRAM, "e1", 7, "Ответ", app_id=OUR_APP, metadata="ns:plan:0", notes=("[photo]",)))

    assert found == EchoFields(
        kind="echo",
        cid=INSTAGRAM.conversation_id,
        channel="instagram",
        account_id=INSTAGRAM.account_id,
        customer_id=INSTAGRAM.customer_id,
        key=key_of("echo", "e1"),
        at="7",
        likeness=text_hash("Ответ"),
        is_ours="1",
        tag="plan:0",
        line=orjson.dumps({"role": "business", "text": "[photo]\nОтвет", "at": 7, "key": key_of("echo", "e1")}),
    )


@pytest.mark.parametrize(
    ("echo", "likeness"),
    [
        (Echo(INSTAGRAM, "e", 7, attached=("image",)), "@image"),
        (Echo(INSTAGRAM, "e", 7, attached=("image", "image")), ""),
        (Echo(MESSENGER, "e", 7, attached=("image",)), ""),  # there its metadata tells
        (Echo(MESSENGER, "e", 7, attached=("image",), found="sweep"), "@image"),
    ],
)
def test_a_bare_attachment_is_like_others_of_its_kind_where_nothing_else_tells_it(echo: Echo, likeness: str) -> None:
    found = fields(echo)

    assert isinstance(found, EchoFields)
    assert found.likeness == likeness


@pytest.mark.parametrize(
    ("echo", "app_id", "is_ours", "tag", "has_line"),
    [
        (Echo(INSTAGRAM, "e", 7, "а", app_id="2", metadata="other:1"), OUR_APP, "", "", True),
        (Echo(INSTAGRAM, "e", 7, "а", app_id=""), "", "", "", True),
        (Echo(INSTAGRAM, "e", 7, "\u200b"), OUR_APP, "", "", False),
    ],
)
def test_an_echo_that_is_not_ours_or_is_empty(
    echo: Echo, app_id: str, is_ours: str, tag: str, *, has_line: bool
) -> None:
    found = fields(echo, app_id=app_id)

    assert isinstance(found, EchoFields)
    assert (found.is_ours, found.tag, bool(found.line)) == (is_ours, tag, has_line)


def test_an_edit_names_its_original_and_has_a_key_for_each_number() -> None:
    found = fields(Edit(INSTAGRAM, "m1", 7, 'Пока "всё"', 2))

    assert isinstance(found, EditFields)
    assert (found.key, found.original, found.number) == (key_of("edit 2", "m1"), key_of("message", "m1"), "2")
    assert orjson.loads(found.text) == 'Пока "всё"'


@pytest.mark.parametrize(
    ("kind", "owner", "app_id", "is_ours"),
    [
        ("take", "1", OUR_APP, ""),
        ("pass", OUR_APP, OUR_APP, "1"),
        ("take", OUR_APP, OUR_APP, "1"),
        ("pass", "1", "", "1"),
        ("take", "1", "", ""),
    ],
)
def test_whose_a_thread_is_now(kind: str, owner: str, app_id: str, is_ours: str) -> None:
    found = fields(ThreadControl(INSTAGRAM, kind, 7, owner), app_id=app_id)

    assert isinstance(found, ThreadControlFields)
    assert (found.action, found.is_ours) == (kind, is_ours)


def test_a_thread_that_is_passed_to_no_app_is_counted_only() -> None:
    assert fields(ThreadControl(INSTAGRAM, "pass", 7)) == NotedFields("noted", "idle_thread_control", "", "")


@pytest.mark.parametrize(("action", "is_told"), [("block", True), ("warning", True), ("unblock", False)])
def test_managers_hear_of_a_block_and_a_warning(action: str, is_told: bool) -> None:
    found = fields(PolicyEnforcement(Channel.INSTAGRAM, "1", action, 7, "spam"))

    assert isinstance(found, PolicyFields)
    assert bool(found.alert) is is_told
    if is_told:
        assert orjson.loads(found.alert)["rule"] == f"account_policy_{action}"


@pytest.mark.parametrize(("customer", "is_known"), [("9", True), ("", False)])
def test_a_message_to_be_read_names_its_conversation_where_meta_does(customer: str, is_known: bool) -> None:
    found = fields(Noted("ghost", "1", unread=UnreadMessage(Channel.INSTAGRAM, "1", "m1", 7, customer)))

    assert isinstance(found, UnreadFields)
    assert bool(found.cid) is is_known
    assert found.counted_as == "ghost"
    assert orjson.loads(found.record) == {"channel": "instagram", "account": "1", "mid": "m1", "at": 7}


@pytest.mark.parametrize(
    ("event", "alert_id"),
    [
        (Noted("unknown_account", "1" * 50), f"system:unknown_account:{'1' * 40}"),
        (Noted("too_old", "1"), "system:too_old:20231114"),
        (Noted("unknown_account"), ""),
        (Noted("read", "1"), ""),
    ],
)
def test_what_is_told_once(event: Noted, alert_id: str) -> None:
    found = fields(event)

    assert isinstance(found, NotedFields)
    assert (found.alert_id, bool(found.alert)) == (alert_id, bool(alert_id))
