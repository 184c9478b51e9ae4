"""Every payload that Meta is known to send, with what it means to us. The bodies are in `tests/payloads/`."""

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
    MediaKind,
    MessageKind,
    Noted,
    PolicyEnforcement,
    ThreadControl,
)
from bot.outcome import SilenceReason
from tests.payloads import documented, raw
from tests.webhooks.support import INSTAGRAM, ON_INSTAGRAM, ON_MESSENGER, PAGE, translate_raw

BASE_MS = 1_790_000_000_000


def direct(
    mid: str,
    after: int,
    text: str = "",
    *notes: str,
    needs_text: bool = False,
    closed_as: SilenceReason | None = None,
) -> CustomerMessage:
    return CustomerMessage(
        ON_INSTAGRAM, MessageKind.MESSAGE, mid, BASE_MS + after, text, notes, needs_text=needs_text, closed_as=closed_as
    )


def page(mid: str, after: int, text: str = "", *notes: str) -> CustomerMessage:
    return CustomerMessage(ON_MESSENGER, MessageKind.MESSAGE, mid, BASE_MS + after, text, notes)


OURSELVES = Contact(Channel.INSTAGRAM, INSTAGRAM, INSTAGRAM)
PLUGIN_VISITOR = Contact(Channel.MESSENGER, PAGE, "user_ref:ref-1")
AD = '[came from an ad: "Spring sale"]'

EXPECTED: dict[str, Event] = {
    "instagram/messages/text": direct("aWdf_A001", 500, "Is the blue one in stock?"),
    "instagram/messages/album_of_two_photos": direct("aWdf_A002", 1500, "", "[photo]", "[photo]"),
    "instagram/messages/shared_post_with_caption": direct(
        "aWdf_A003", 2500, "", '[shared post: "Caption of the post"]'
    ),
    "instagram/messages/shared_post_by_link": direct("aWdf_A004", 2600, "", "[shared post]"),
    "instagram/messages/reel": direct("aWdf_A005", 3500, "", '[reel: "Reel caption"]'),
    "instagram/messages/story_mention": direct("aWdf_A006", 4500, "", "[mentioned us in a story]"),
    "instagram/messages/shared_story": direct("aWdf_A007", 5500, "", "[shared story]"),
    "instagram/messages/view_once_media": direct("aWdf_A008", 6500, "", "[unsupported message]", needs_text=True),
    "instagram/messages/unsupported": direct("aWdf_A009", 7500, "", "[unsupported message]", needs_text=True),
    "instagram/messages/link": direct("aWdf_A010", 8500, "https://example.invalid/a", '[link: "A page"]'),
    "instagram/messages/reply_to_story": direct("aWdf_A011", 9500, "Love it!", "[reply to our story]"),
    "instagram/messages/reply_to_message": direct("aWdf_A012", 10500, "this one", "[quotes an earlier message]"),
    "instagram/messages/quick_reply": direct("aWdf_A013", 11500, "Yes", "[button: CONFIRM_YES]"),
    "instagram/messages/from_an_ad": direct("aWdf_A014", 12500, "Hi", AD, "[referral: spring]"),
    "instagram/messages/about_a_product": direct("aWdf_A015", 12600, "Size?", "[product: 5500000000000001]"),
    "instagram/events/echo_of_words": Echo(ON_INSTAGRAM, "aWdf_A016", BASE_MS + 13500, "We answer from 9"),
    "instagram/events/echo_of_a_card": Echo(ON_INSTAGRAM, "aWdf_A017", BASE_MS + 13600, notes=('[card: "Card"]',)),
    "instagram/events/message_to_ourselves": CustomerMessage(
        OURSELVES, MessageKind.MESSAGE, "aWdf_A018", BASE_MS + 14500, "test", closed_as=SilenceReason.SELF
    ),
    "instagram/events/deletion": Deletion(ON_INSTAGRAM, "aWdf_A001", BASE_MS + 15500),
    "instagram/events/edit": Edit(ON_INSTAGRAM, "aWdf_A001", BASE_MS + 16500, "Is the RED one in stock?", 1),
    "instagram/events/ghost_edit": Noted("ghost_edit", INSTAGRAM),
    "instagram/events/reaction": CustomerAction(ON_INSTAGRAM, "reaction", BASE_MS + 18500),
    "instagram/events/reaction_taken_back": Noted("reaction", INSTAGRAM),
    "instagram/events/read": Noted("read", INSTAGRAM),
    "instagram/messages/postback": CustomerMessage(
        ON_INSTAGRAM, MessageKind.POSTBACK, "aWdf_A024", BASE_MS + 20500, "Opening hours", ("[button: HOURS]",)
    ),
    "instagram/events/referral": CustomerAction(ON_INSTAGRAM, "referral", BASE_MS + 21500),
    "instagram/messages/on_standby": direct("aWdf_A026", 22500, "anyone there?", closed_as=SilenceReason.STANDBY),
    "instagram/events/dashboard_test_in_changes": Noted("test_event", "0"),
    "instagram/events/dashboard_test_in_messaging": Noted("test_event", "0"),
    "instagram/events/comment": Noted("comment", INSTAGRAM),
    "instagram/events/mention_in_a_comment": Noted("mention", INSTAGRAM),
    "messenger/messages/text": page("m_B001", 100500, "Hello"),
    "messenger/messages/sticker": page("m_B002", 101500, "", "[sticker]"),
    "messenger/messages/link_with_words": page("m_B003", 102500, "see https://example.invalid/v", '[link: "A video"]'),
    "messenger/events/own_echo_of_a_link": Echo(
        ON_MESSENGER, "m_B004", BASE_MS + 102600, "", "555000111222333", notes=('[link: "Legacy"]',)
    ),
    "messenger/messages/shared_post": page("m_B005", 103500, "", '[shared post: "Post title"]'),
    "messenger/messages/location": page("m_B006", 104500, "", "[location: 50.1, 8.6]"),
    "messenger/messages/product": page("m_B007", 105500, "", '[product: "Mug"]'),
    "messenger/messages/appointment": page("m_B008", 105600, "", "[appointment: requested, 2026-09-22 18:00 UTC]"),
    "messenger/events/own_echo_with_metadata": Echo(
        ON_MESSENGER, "m_B009", BASE_MS + 106500, "Our answer", "555000111222333", "run:7f3a"
    ),
    "messenger/events/echo_of_a_human": Echo(
        ON_MESSENGER, "m_B010", BASE_MS + 107500, "Hi, Maria here", "263902037430900"
    ),
    "messenger/events/delivery": Noted("delivery", PAGE),
    "messenger/events/read": Noted("read", PAGE),
    "messenger/events/reaction": CustomerAction(ON_MESSENGER, "reaction", BASE_MS + 110500),
    "messenger/events/edit": Edit(ON_MESSENGER, "m_B001", BASE_MS + 111500, "Hello again", 2),
    "messenger/messages/postback_with_referral": CustomerMessage(
        ON_MESSENGER,
        MessageKind.POSTBACK,
        "m_B012",
        BASE_MS + 112500,
        "Get Started",
        ("[referral: qr-1]", "[button: GET_STARTED]"),
    ),
    "messenger/messages/standby_postback_without_payload": CustomerMessage(
        ON_MESSENGER,
        MessageKind.POSTBACK,
        "pb:008918f2349d14a4c6227b6a6050accb",  # sha256 of the item with its keys sorted
        BASE_MS + 113500,
        "Get Started",
        closed_as=SilenceReason.STANDBY,
    ),
    "messenger/events/referral": CustomerAction(ON_MESSENGER, "referral", BASE_MS + 114500),
    "messenger/events/lead_complete": Noted("referral", PAGE),
    "messenger/messages/lead_summary": Noted("lead_summary", PAGE),
    "messenger/events/pass_thread_control": ThreadControl(ON_MESSENGER, "pass", BASE_MS + 117500, "555000111222333"),
    "messenger/events/take_thread_control": ThreadControl(ON_MESSENGER, "take", BASE_MS + 117600, "263902037430900"),
    "messenger/events/request_thread_control": Noted("request_thread_control", PAGE),
    "messenger/events/app_roles": Noted("app_roles", PAGE),
    "messenger/events/optin": Noted("optin", PAGE),
    "messenger/events/policy_enforcement": PolicyEnforcement(
        Channel.MESSENGER, PAGE, "block", BASE_MS + 119500, "Too many unsolicited messages"
    ),
    "messenger/events/account_linking": Noted("account_linking", PAGE),
    "messenger/events/response_feedback": Noted("response_feedback", PAGE),
    "messenger/events/order": Noted("order", PAGE),
    "messenger/events/comment": Noted("comment", PAGE),
    "messenger/messages/text_with_commands": page("m_B022", 122500, "flights to Bonn"),
    "messenger/messages/postback_of_a_plugin_visitor": CustomerMessage(
        PLUGIN_VISITOR, MessageKind.POSTBACK, "m_B023", BASE_MS + 122000, "Start", ("[button: START]",)
    ),
}


def test_an_album_keeps_where_its_pictures_are() -> None:
    (event,) = translate_raw(raw("instagram/messages/album_of_two_photos"))

    assert isinstance(event, CustomerMessage)
    assert [(m.kind, m.note) for m in event.media] == [(MediaKind.IMAGE, 0), (MediaKind.IMAGE, 1)]
    assert "sig=" not in repr(event), "whoever has the address can see the picture"


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_known_payload_becomes_its_event(name: str) -> None:
    assert translate_raw(raw(name)) == [EXPECTED[name]]


def test_every_payload_is_listed() -> None:
    assert documented() == sorted(EXPECTED)
