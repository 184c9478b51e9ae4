"""Known payloads with something wrong in them: nothing raises, no neighbour is lost, no customer goes unheard."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.incoming.events import CustomerMessage, Event, Noted
from bot.incoming.meta_values import TEXT_LIMIT, as_mapping
from tests.payloads import names, raw
from tests.payloads.mutate import mutate
from tests.webhooks.support import IGSID, INSTAGRAM, PAGE, RECEIVED_MS, item, message, translate_raw
from webhooks.payloads import parse_body

KNOWN = {name: parse_body(raw(name)) for name in names()}
OURS = {INSTAGRAM, PAGE}


def items_of(payload: Any) -> list[dict[str, Any]]:
    """The items of `messaging` and of `changes` that messages could stand among."""
    bodies = payload if isinstance(payload, list) else [payload]
    entries = [entry for body in bodies for entry in as_list(as_mapping(body).get("entry"))]
    return [one for entry in entries for one in as_list(as_mapping(entry).get("messaging")) if isinstance(one, dict)]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


ITEMS = [one for payload in KNOWN.values() for one in items_of(payload)]


def mutated(data: st.DataObject, value: Any) -> Any:
    for _ in range(data.draw(st.integers(1, 4))):
        value = mutate(value, lambda choices: choices[data.draw(st.integers(0, len(choices) - 1))])
    return value


def dumped(payload: Any) -> bytes:
    return json.dumps(payload).encode()


def check(found: list[Event]) -> None:
    for each in found:
        if isinstance(each, Noted):
            assert isinstance(each.account_id, str)
            continue
        assert isinstance(each.at_ms, int)
        assert 0 < each.at_ms <= RECEIVED_MS
        account_id = getattr(each, "account_id", "") or each.contact.account_id  # type: ignore[union-attr]
        assert account_id in OURS
        for id_of in ("mid", "owner_app_id", "app_id", "metadata"):
            assert isinstance(getattr(each, id_of, None), str | None)
        if isinstance(each, CustomerMessage):
            assert each.contact.customer_id
            assert each.mid
            assert each.text.strip() or each.notes
            assert len(each.text) <= TEXT_LIMIT
            json.dumps([each.text, *each.notes, each.mid]).encode("ascii")
            "".join([each.text, *each.notes, each.mid]).encode()


@given(st.data())
def test_any_payload_with_faults_becomes_events(data: st.DataObject) -> None:
    payload = mutated(data, KNOWN[data.draw(st.sampled_from(sorted(KNOWN)))])

    check(translate_raw(dumped(payload)))


@given(st.data())
def test_an_item_with_faults_is_one_event_and_leaves_its_neighbours_alone(data: st.DataObject) -> None:
    odd = mutated(data, data.draw(st.sampled_from(ITEMS)))
    before, after = message("before", text="1"), message("after", text="2")
    channel, entry_id = ("page", PAGE) if data.draw(st.booleans()) else ("instagram", INSTAGRAM)
    for good in (before, after):
        good["recipient"] = {"id": entry_id}

    found = translate_raw(dumped({"object": channel, "entry": [{"id": entry_id, "messaging": [before, odd, after]}]}))

    assert len(found) == 3
    assert [(e.mid, e.text) for e in (found[0], found[2]) if isinstance(e, CustomerMessage)] == [
        ("before", "1"),
        ("after", "2"),
    ]
    check(found)


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=40)


@given(st.data(), WORDS)
def test_whatever_else_is_odd_the_words_of_a_customer_are_heard(data: st.DataObject, words: str) -> None:
    carrier = data.draw(st.sampled_from([one for one in ITEMS if isinstance(one.get("message"), dict)]))
    rest = {key: value for key, value in carrier["message"].items() if not key.startswith("is_")}
    odd = as_mapping(mutated(data, {**carrier, "message": rest}))
    said = {key: value for key, value in as_mapping(odd.get("message")).items() if not key.startswith("is_")}
    around = {key: value for key, value in odd.items() if key != "hop_context"}
    spoken = {
        **around,
        "sender": {"id": IGSID},
        "recipient": {"id": INSTAGRAM},
        "message": {**said, "text": words},
    }

    [event] = translate_raw(dumped({"object": "instagram", "entry": [{"id": INSTAGRAM, "messaging": [spoken]}]}))

    assert isinstance(event, CustomerMessage)
    assert event.closed_as is None
    assert event.contact.customer_id == IGSID
    if not event.needs_text:  # what shows nothing is asked for again
        assert event.text == words


@given(st.data())
def test_a_message_of_a_customer_is_never_taken_for_noise(data: st.DataObject) -> None:
    """Attachments, buttons, ads and quotes with faults in them are still something that wants an answer."""
    fields = mutated(
        data,
        {
            "mid": "a",
            "attachments": [
                {"type": "image", "payload": {"url": "https://cdn.example.invalid/1"}},
                {"type": "template", "payload": {"product": {"elements": [{"title": "Mug"}]}}},
                {"type": "location", "title": "Pin", "payload": {"coordinates": {"lat": 50.1, "long": 8.6}}},
            ],
            "quick_reply": {"payload": "YES", "title": "Yes"},
            "reply_to": {"story": {"id": "1"}},
            "referral": {"ads_context_data": {"ad_title": "Sale"}, "product": {"id": "7"}},
        },
    )
    if not isinstance(fields, dict):
        return

    [event] = translate_raw(
        dumped({"object": "instagram", "entry": [{"id": INSTAGRAM, "messaging": [item(message=fields)]}]})
    )

    assert isinstance(event, CustomerMessage)
    assert event.notes
