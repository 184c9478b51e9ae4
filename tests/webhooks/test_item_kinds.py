"""Items that are no plain message: standby, edits, deletions, what is only counted."""

import pytest

from bot.incoming.events import (
    Channel,
    Deletion,
    Echo,
    Edit,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
)
from bot.outcome import SilenceReason
from tests.webhooks.support import (
    IGSID,
    INSTAGRAM,
    ON_INSTAGRAM,
    event,
    events,
    instagram,
    item,
    message,
)
from tests.webhooks.translating import words

# Standby.


def test_standby_records_words_and_counts_the_rest() -> None:
    found = events(instagram(standby=[message("a", text="1"), item(postback={"title": "x"}), item(read={"mid": "a"})]))

    assert [getattr(e, "closed_as", None) for e in found] == [SilenceReason.STANDBY, SilenceReason.STANDBY, None]
    assert found[2] == Noted("standby", INSTAGRAM)


def test_facts_are_facts_on_standby_too() -> None:
    echo = {"sender": {"id": INSTAGRAM}, "recipient": {"id": IGSID}, "message": {"mid": "e", "is_echo": True}}

    found = events(instagram(standby=[echo, message("a", is_deleted=True)]))

    assert [type(e) for e in found] == [Echo, Deletion]


# Edits, deletions, what is only counted.


@pytest.mark.parametrize(
    "edit",
    [
        {"mid": "a", "num_edit": 0, "text": "x"},
        {"mid": "a", "num_edit": "0", "text": "x"},
        {"mid": "a", "num_edit": 1},
        {"num_edit": 1, "text": "x"},
        {},
    ],
)
def test_an_edit_that_changes_nothing_is_a_ghost(edit: dict[str, object]) -> None:
    assert event(instagram(item(message_edit=edit))) == Noted("ghost_edit", INSTAGRAM)


@pytest.mark.parametrize(
    ("fields", "customer_id"),
    [
        (item(message_edit={"mid": "a", "num_edit": 0}), IGSID),
        (item(message_edit={"mid": "a", "num_edit": 0, "text": "x"}), IGSID),
        (item(message_edit={"mid": "a", "num_edit": 1}), IGSID),
        ({"timestamp": 1790000000500, "message_edit": {"mid": "a", "num_edit": 0}}, ""),
    ],
)
def test_a_ghost_is_to_be_read(fields: dict[str, object], customer_id: str) -> None:
    found = event(instagram(fields))

    assert isinstance(found, Noted)
    assert found.unread == UnreadMessage(Channel.INSTAGRAM, INSTAGRAM, "a", 1790000000500, customer_id)


@pytest.mark.parametrize(
    "payload",
    [
        instagram(item(message_edit={"num_edit": 0})),
        instagram({"timestamp": 1790000000500, "message_edit": {"mid": "a", "num_edit": 1, "text": "x"}}),
        instagram(standby=[item(message_edit={"mid": "a", "num_edit": 0})]),
        instagram({**item(message_edit={"mid": "a", "num_edit": 0}), "sender": {"id": INSTAGRAM}}),
    ],
)
def test_what_names_no_new_message_of_ours_is_not_read(payload: dict[str, object]) -> None:
    found = event(payload)

    assert isinstance(found, Noted)
    assert found.unread is None


@pytest.mark.parametrize(("num_edit", "number"), [(3, 3), ("3", 3), ("<NUM_EDIT>", 1), (None, 1)])
def test_an_edit_counts_from_one(num_edit: object, number: int) -> None:
    found = event(instagram(item(message_edit={"mid": "a", "num_edit": num_edit, "text": "x"})))

    assert found == Edit(ON_INSTAGRAM, "a", 1790000000500, "x", number)


def test_a_deletion_needs_its_mid() -> None:
    assert event(instagram(item(message={"is_deleted": True}))) == Noted("unparsable", INSTAGRAM)


def test_a_message_that_only_passed_another_app_is_a_message() -> None:
    hop = {"app_id": 1, "metadata": "from the menu bot"}

    assert words(instagram({**message(text="hi"), "hop_context": [hop]})).text == "hi"


@pytest.mark.parametrize("key", ["account_linking", "template", "form", "lead"])
def test_other_kinds_are_counted_under_their_key(key: str) -> None:
    assert event(instagram(item(**{key: {"x": 1}}))) == Noted(key, INSTAGRAM)


@pytest.mark.parametrize("fields", [{}, {"surprise": {}}, {"message": None}])
def test_unknown_kinds_are_noted(fields: dict[str, object]) -> None:
    assert event(instagram(item(**fields))) == Noted("unknown", INSTAGRAM)


def test_taking_a_reaction_back_opens_no_window() -> None:
    assert event(instagram(item(reaction={"mid": "a", "action": "unreact"}))) == Noted("reaction", INSTAGRAM)


def test_a_reaction_of_our_own_is_no_action_of_a_customers() -> None:
    ours = {"sender": {"id": INSTAGRAM}, "recipient": {"id": IGSID}, "reaction": {"mid": "a", "action": "react"}}

    assert event(instagram(ours)) == Noted("reaction", INSTAGRAM)


@pytest.mark.parametrize("value", [{}, {"action": 7}, {"action": None}, "block", [], {"action": "BLOCK "}])
def test_an_odd_policy_enforcement_is_still_one(value: object) -> None:
    found = event(instagram({"recipient": {"id": INSTAGRAM}, "policy_enforcement": value}))

    assert isinstance(found, PolicyEnforcement)
    assert found.action in ("", "7", "block")


@pytest.mark.parametrize("owner", ["555000111222333", 555000111222333])
def test_app_ids_are_compared_as_text(owner: object) -> None:
    found = event(instagram(item(pass_thread_control={"new_owner_app_id": owner})))

    assert isinstance(found, ThreadControl)
    assert found.owner_app_id == "555000111222333"
