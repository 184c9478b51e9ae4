import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.incoming.attachments import UNSUPPORTED
from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    MessageKind,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
)
from bot.outcome import SilenceReason
from runtime.settings import Account
from tests.growth import MOST, growth
from tests.webhooks.support import (
    ACCOUNTS,
    IGSID,
    INSTAGRAM,
    ON_INSTAGRAM,
    PAGE,
    PSID,
    RECEIVED_MS,
    event,
    events,
    instagram,
    item,
    message,
    translate_raw,
)
from webhooks.accounts import Accounts
from webhooks.translate import translate


def words(payload: object) -> CustomerMessage:
    found = event(payload)
    assert isinstance(found, CustomerMessage)
    return found


# The envelope.


@pytest.mark.parametrize("payload", [1, "text", None, True, [1, None]])
def test_what_is_no_object_is_unparsable(payload: object) -> None:
    assert set(events(payload)) == {Noted("unparsable")}


@pytest.mark.parametrize("payload", [[], {"object": "page"}, {"object": "page", "entry": []}])
def test_an_empty_body_has_no_events(payload: object) -> None:
    assert events(payload) == []


@pytest.mark.parametrize("payload", [{}, {"object": "user", "entry": [{}]}, {"object": ["page"]}])
def test_an_object_we_do_not_serve_is_noted(payload: object) -> None:
    assert events(payload) == [Noted("unknown_object")]


def test_a_list_of_bodies_is_read_whole() -> None:
    found = events([instagram(message("a", text="1")), {"object": "user"}, instagram(message("b", text="2"))])

    assert [getattr(e, "mid", None) for e in found] == ["a", None, "b"]


@pytest.mark.parametrize("extra", [{}, {"messaging": []}, {"messaging": None}, {"standby": []}, {"changes": []}])
def test_an_entry_without_items_is_noted(extra: dict[str, object]) -> None:
    assert events({"object": "page", "entry": [{"id": PAGE, **extra}]}) == [Noted("empty_entry", PAGE)]


def test_names_of_changed_fields_alone_are_noted() -> None:
    assert event({"object": "page", "entry": [{"id": PAGE, "changed_fields": ["feed"]}]}) == Noted(
        "changed_fields", PAGE
    )


def test_all_items_of_all_entries_are_read() -> None:
    first = instagram(message("a", text="1"), message("b", text="2"), standby=[message("c", text="3")])
    second = instagram(message("d", text="4"))

    found = events({"object": "instagram", "entry": first["entry"] + second["entry"]})

    assert [e.mid for e in found if isinstance(e, CustomerMessage)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "odd", [None, 5, "x", [], {"message": "text"}, {"message": 7}, {"postback": "x"}, {"sender": [], "message": []}]
)
def test_an_odd_item_does_not_spoil_the_batch(odd: object) -> None:
    found = events(instagram(message("a", text="1"), odd, message("b", text="2")))

    assert [getattr(found[0], "mid", None), getattr(found[2], "mid", None)] == ["a", "b"]
    assert found[1] == Noted("unparsable", INSTAGRAM)


class Cursed(dict[str, Any]):
    """An item that no reader can read."""

    def get(self, *_: object) -> object:
        raise RuntimeError("what the customer wrote")


def test_a_failure_of_our_own_stays_with_its_item(caplog: pytest.LogCaptureFixture, capsys: Any) -> None:
    found = translate(instagram(message("a", text="1"), Cursed(), message("b", text="2")), Accounts(ACCOUNTS), 1)

    assert [type(e) for e in found] == [CustomerMessage, Noted, CustomerMessage]
    assert found[1] == Noted("unparsable", INSTAGRAM)
    logged = caplog.text + "".join(capsys.readouterr())
    assert "webhook_item_unparsable" in logged
    assert "what the customer wrote" not in logged


# Accounts.


def test_an_unknown_account_is_noted_with_its_id() -> None:
    strange = {
        "object": "instagram",
        "entry": [{"id": "17849", "messaging": [{**item(), "recipient": {"id": "17849"}}]}],
    }

    assert event(strange) == Noted("unknown_account", "17849")


def test_the_account_side_of_the_item_comes_before_the_entry() -> None:
    payload = instagram(message(text="hi"))
    payload["entry"][0]["id"] = "17849"

    assert words(payload).contact == ON_INSTAGRAM


def test_the_entry_names_the_account_when_the_item_does_not() -> None:
    fields = message(text="hi")
    del fields["recipient"]

    assert words(instagram(fields)).contact == ON_INSTAGRAM


def test_a_page_id_stands_for_its_instagram_account() -> None:
    payload = instagram({**message(text="hi"), "recipient": {"id": PAGE}})
    payload["entry"][0]["id"] = PAGE

    assert words(payload).contact == ON_INSTAGRAM


def test_an_alias_never_hides_an_account_of_that_id() -> None:
    accounts = Accounts(
        [
            Account(channel=Channel.INSTAGRAM, id="1", page_id="2"),
            Account(channel=Channel.INSTAGRAM, id="2", page_id="1"),
        ]
    )

    assert accounts.on(Channel.INSTAGRAM)["1"] == "1"
    assert accounts.on(Channel.INSTAGRAM)["2"] == "2"
    assert "1" not in accounts.on(Channel.MESSENGER)


def test_the_channel_is_part_of_the_contact() -> None:
    page = {"object": "page", "entry": [{"id": PAGE, "messaging": [message(text="hi")]}]}

    assert words(page).contact == Contact(Channel.MESSENGER, PAGE, IGSID)


def test_numbers_are_ids_and_floats_are_not() -> None:
    assert words(instagram({**message(text="hi"), "sender": {"id": 9001}})).contact.customer_id == "9001"
    assert event(instagram({**message(text="hi"), "sender": {"id": 9001.0}})) == Noted("no_customer", INSTAGRAM)


# Own messages and tests.


def test_our_own_words_without_the_echo_flag_are_still_an_echo() -> None:
    ours = {"sender": {"id": INSTAGRAM}, "recipient": {"id": IGSID}, "timestamp": 1790000000500}

    found = event(instagram({**ours, "message": {"mid": "e1", "text": "hello"}}))

    assert found == Echo(ON_INSTAGRAM, "e1", 1790000000500, "hello")


def test_an_echo_that_meta_does_not_show_us_is_not_empty() -> None:
    ours = {"sender": {"id": INSTAGRAM}, "recipient": {"id": IGSID}, "timestamp": 1790000000500}

    found = event(instagram({**ours, "message": {"mid": "e1", "is_echo": True, "is_unsupported": True}}))

    assert found == Echo(ON_INSTAGRAM, "e1", 1790000000500, notes=(UNSUPPORTED,))


def test_an_echo_is_known_by_its_flag_even_under_an_unlisted_sender() -> None:
    echo = {"sender": {"id": "55"}, "recipient": {"id": IGSID}, "message": {"mid": "e1", "is_echo": True}}

    assert isinstance(event(instagram(echo)), Echo)


def test_an_own_message_taken_back_is_no_deletion_by_the_customer() -> None:
    echo = {"sender": {"id": INSTAGRAM}, "recipient": {"id": IGSID}}

    found = event(instagram({**echo, "message": {"mid": "e1", "is_echo": True, "is_deleted": True}}))

    assert found == Noted("echo_deleted", INSTAGRAM)


def test_a_message_to_oneself_that_is_an_echo_is_an_echo() -> None:
    own = {"sender": {"id": INSTAGRAM}, "recipient": {"id": INSTAGRAM}}

    assert isinstance(event(instagram({**own, "message": {"mid": "e", "is_self": True, "is_echo": True}})), Echo)
    closed = words(instagram({**own, "message": {"mid": "e", "text": "x"}}))
    assert closed.closed_as is SilenceReason.SELF


def test_a_test_event_for_a_known_account_is_closed_as_one() -> None:
    payload = instagram(message(text="random_text"))
    payload["entry"][0]["id"] = "0"

    assert words(payload).closed_as is SilenceReason.TEST_EVENT


def test_a_message_in_changes_is_a_message() -> None:
    real = {
        "object": "instagram",
        "entry": [{"id": INSTAGRAM, "changes": [{"field": "messages", "value": message(text="hi")}]}],
    }

    assert words(real).closed_as is None


def test_field_and_value_may_stand_in_the_entry() -> None:
    assert event({"object": "instagram", "entry": [{"id": INSTAGRAM, "field": "comments", "value": {}}]}) == Noted(
        "comment", INSTAGRAM
    )


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("live_comments", {}, "comment"),
        ("feed", {"item": "status"}, "feed"),
        ("feed", None, "feed"),
        ("story_insights", {"reach": 1}, "unknown_change"),
        (None, None, "unknown_change"),
    ],
)
def test_changes_are_noted_by_field(field: object, value: object, kind: str) -> None:
    payload = {"object": "page", "entry": [{"id": PAGE, "changes": [{"field": field, "value": value}]}]}

    assert event(payload) == Noted(kind, PAGE)


def test_changes_of_unknown_accounts_are_noted() -> None:
    def change(entry_id: str) -> Event:
        return event({"object": "page", "entry": [{"id": entry_id, "changes": [{"field": "feed"}]}]})

    assert change("17849") == Noted("unknown_account", "17849")
    assert change("0") == Noted("test_event", "0")


# Standby.


def test_standby_records_words_and_counts_the_rest() -> None:
    found = events(instagram(standby=[message("a", text="1"), item(postback={"title": "x"}), item(read={"mid": "a"})]))

    assert [getattr(e, "closed_as", None) for e in found] == [SilenceReason.STANDBY, SilenceReason.STANDBY, None]
    assert found[2] == Noted("standby", INSTAGRAM)


def test_facts_are_facts_on_standby_too() -> None:
    echo = {"sender": {"id": INSTAGRAM}, "recipient": {"id": IGSID}, "message": {"mid": "e", "is_echo": True}}

    found = events(instagram(standby=[echo, message("a", is_deleted=True)]))

    assert [type(e) for e in found] == [Echo, Deletion]


# Times.


@pytest.mark.parametrize(
    ("timestamp", "at_ms"),
    [
        (1790000000500, 1790000000500),
        (1790000000, 1790000000000),
        ("1527459824", 1527459824000),
        ("1790000000500", 1790000000500),
        (1790000000.5, 1790000000500),
        ("2026-04-05T05:27:08+0000", 1775366828000),
        ("2026-04-05T05:27:08", 1775366828000),
        (RECEIVED_MS + 1, RECEIVED_MS),
        (1790000000500000, RECEIVED_MS),
        (0, RECEIVED_MS),
        (-5, RECEIVED_MS),
        (12, RECEIVED_MS),
        (10**30, RECEIVED_MS),
        ("inf", RECEIVED_MS),
        ("nan", RECEIVED_MS),
        ("yesterday", RECEIVED_MS),
        ("", RECEIVED_MS),
        (True, RECEIVED_MS),
        ([1790000000500], RECEIVED_MS),
    ],
)
def test_times_come_in_all_units(timestamp: object, at_ms: int) -> None:
    assert words(instagram({**message(text="hi"), "timestamp": timestamp})).at_ms == at_ms


def test_an_item_without_a_time_has_that_of_its_entry() -> None:
    fields = message(text="hi")
    del fields["timestamp"]

    assert words(instagram(fields)).at_ms == 1790000000600
    assert words(instagram(fields, time=None)).at_ms == RECEIVED_MS


# Words.


def test_text_is_kept_as_written_but_for_nul() -> None:
    assert words(instagram(message(text="  a\u0000b\n🚀  "))).text == "  ab\n🚀  "


def test_half_an_emoji_costs_one_character_and_not_the_batch() -> None:
    body = json.dumps(instagram(message("a", text="before"), message("b", text="after"))).encode()

    found = translate_raw(body.replace(b"before", rb"cut \ud83d"))

    assert [e.text for e in found if isinstance(e, CustomerMessage)] == ["cut \ufffd", "after"]


@pytest.mark.parametrize(
    ("before", "after"), [(b"", b"\xef\xbb\xbf"), (b"before", b"\xff\xfe"), (b"before", b"\xed\xa0")]
)
def test_broken_encoding_does_not_cost_the_batch(before: bytes, after: bytes) -> None:
    body = json.dumps(instagram(message("a", text="before"), message("b", text="after"))).encode()

    found = translate_raw(body.replace(before, after, 1))

    assert [e.mid for e in found if isinstance(e, CustomerMessage)] == ["a", "b"]


def test_a_long_text_is_cut_and_says_so() -> None:
    found = words(instagram(message(text="я" * 9000)))

    assert found.text == "я" * 8000
    assert found.notes == ("[message cut: 8000 of 9000 characters shown]",)
    assert not found.needs_text


@pytest.mark.parametrize("text", [None, "", "   ", "\u200b\u200d", [], {}])
def test_a_message_that_says_nothing_asks_for_words(text: object) -> None:
    found = words(instagram(message(text=text)))

    assert found.needs_text
    assert found.notes == ("[unsupported message]",)


def test_a_bare_message_object_is_still_a_message() -> None:
    found = words(instagram(item(message={})))

    assert found.needs_text
    assert found.mid.startswith("message:")


def test_a_story_reply_without_words_asks_for_words_and_keeps_its_context() -> None:
    found = words(instagram(message(reply_to={"story": {"id": "1"}})))

    assert found.needs_text
    assert found.notes == ("[reply to our story]", "[unsupported message]")


def test_words_beside_something_unreadable_are_answered() -> None:
    found = words(instagram(message(text="look", attachments=[{"type": "ephemeral"}])))

    assert not found.needs_text
    assert found.notes == ("[unsupported message]",)


def test_a_missing_mid_is_replaced_by_the_same_one_each_time() -> None:
    first, again = (words(instagram(item(message={"text": "hi"}))) for _ in range(2))
    other = words(instagram(item(message={"text": "ho"})))

    assert first.mid == again.mid != other.mid


def test_the_order_of_keys_does_not_change_a_stand_in_mid() -> None:
    one = words(instagram(item(postback={"title": "a", "payload": "b"})))
    two = words(instagram(dict(reversed(item(postback={"payload": "b", "title": "a"}).items()))))

    assert one.kind is MessageKind.POSTBACK
    assert one.mid == two.mid
    assert len(one.mid) == len("pb:") + 32


def test_a_long_mid_is_kept_whole() -> None:
    assert words(instagram(message("m" * 400, text="x"))).mid == "m" * 400


def test_a_button_without_title_and_payload_is_still_a_tap() -> None:
    found = words(instagram(item(postback={})))

    assert (found.text, found.notes, found.needs_text) == ("", ("[button]",), False)


def test_a_quick_reply_without_text_takes_its_title() -> None:
    found = words(instagram(message(quick_reply={"title": "Yes", "payload": "Y"})))

    assert (found.text, found.notes, found.needs_text) == ("Yes", ("[button: Y]",), False)


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


# Everything at once.

# fmt: off
KEYS = st.sampled_from([
    "object", "entry", "id", "time", "messaging", "standby", "changes", "field", "value", "sender", "recipient",
    "timestamp", "message", "postback", "mid", "text", "attachments", "type", "payload", "url", "title", "is_echo",
    "is_self", "is_deleted", "is_unsupported", "reply_to", "story", "referral", "quick_reply", "message_edit",
    "num_edit", "hop_context", "metadata", "app_id", "user_ref", "coordinates", "lat", "long", "product", "elements",
    "start_time", "reaction", "action", "reason", "policy_enforcement", "pass_thread_control", "take_thread_control",
    "new_owner_app_id",
])
# fmt: on
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["page", "instagram", INSTAGRAM, PAGE, IGSID, PSID, "0", "12334", "image", "location", "file"]),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=25
)
ITEMS = st.dictionaries(KEYS, JSON, max_size=8)


def check(found: list[Event]) -> None:
    for each in found:
        if isinstance(each, Noted):
            assert isinstance(each.account_id, str)
            continue
        assert 0 < each.at_ms <= RECEIVED_MS
        if isinstance(each, PolicyEnforcement):
            assert each.account_id in {INSTAGRAM, PAGE}
            continue
        assert each.contact.account_id in {INSTAGRAM, PAGE}
        assert isinstance(each.contact.customer_id, str)
        assert each.contact.customer_id
        if not isinstance(each, CustomerAction | ThreadControl):
            assert isinstance(each.mid, str)
            assert each.mid
        if isinstance(each, CustomerMessage):
            assert each.text or each.notes
            assert all(note.startswith("[") and note.endswith("]") and note.count("[") == 1 for note in each.notes)
            assert all(note.isprintable() or "\u200d" in note for note in each.notes if note.isascii())


@given(payload=JSON)
def test_any_json_becomes_events(payload: object) -> None:
    check(events(payload))


@given(items=st.lists(ITEMS, min_size=1, max_size=4), channel=st.sampled_from(["page", "instagram"]))
def test_any_items_become_one_event_each(items: list[dict[str, Any]], channel: str) -> None:
    addressed = [{**each, "recipient": {"id": INSTAGRAM if channel == "instagram" else PAGE}} for each in items]

    found = events({"object": channel, "entry": [{"id": PAGE, "messaging": addressed}]})

    assert len(found) == len(items)
    check(found)


@given(fields=st.dictionaries(KEYS, JSON, max_size=8))
def test_any_message_of_a_customer_is_heard(fields: dict[str, Any]) -> None:
    plain = {key: value for key, value in fields.items() if not key.startswith("is_")}

    found = event(instagram(item(message=plain)))

    assert isinstance(found, CustomerMessage)
    check([found])


def batch(size: int) -> dict[str, Any]:
    return instagram(*(message(f"m{n}", text="Is the blue one in stock?") for n in range(size)))


def test_a_batch_of_a_thousand_is_a_thousand_messages() -> None:
    found = translate(batch(1000), Accounts(ACCOUNTS), RECEIVED_MS)

    assert len({e.mid for e in found if isinstance(e, CustomerMessage)}) == 1000


def test_the_work_for_a_batch_grows_with_its_messages() -> None:
    accounts = Accounts(ACCOUNTS)

    assert growth(lambda payload: translate(payload, accounts, RECEIVED_MS), batch, 500) <= MOST
