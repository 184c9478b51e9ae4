from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Event,
    Noted,
    PolicyEnforcement,
    ThreadControl,
)
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
)
from tests.webhooks.translating import words
from webhooks.accounts import Accounts
from webhooks.translate import translate

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
