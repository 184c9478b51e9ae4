"""What one item of a webhook says: our own words, tests, times, the words of customers."""

import json

import pytest

from bot.incoming.attachments import UNSUPPORTED
from bot.incoming.events import (
    CustomerMessage,
    Echo,
    Event,
    MessageKind,
    Noted,
)
from bot.outcome import SilenceReason
from tests.webhooks.support import (
    IGSID,
    INSTAGRAM,
    ON_INSTAGRAM,
    PAGE,
    RECEIVED_MS,
    event,
    instagram,
    item,
    message,
    translate_raw,
)
from tests.webhooks.translating import words

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
