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
from tests.webhooks.support import INSTAGRAM, ON_INSTAGRAM, ON_MESSENGER, PAGE, PAYLOADS, translate_raw

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
    "I01": direct("aWdf_A001", 500, "Is the blue one in stock?"),
    "I02": direct("aWdf_A002", 1500, "", "[photo]", "[photo]"),
    "I03": direct("aWdf_A003", 2500, "", '[shared post: "Caption of the post"]'),
    "I04": direct("aWdf_A004", 2600, "", "[shared post]"),
    "I05": direct("aWdf_A005", 3500, "", '[reel: "Reel caption"]'),
    "I06": direct("aWdf_A006", 4500, "", "[mentioned us in a story]"),
    "I07": direct("aWdf_A007", 5500, "", "[shared story]"),
    "I08": direct("aWdf_A008", 6500, "", "[unsupported message]", needs_text=True),
    "I09": direct("aWdf_A009", 7500, "", "[unsupported message]", needs_text=True),
    "I10": direct("aWdf_A010", 8500, "https://example.invalid/a", '[link: "A page"]'),
    "I11": direct("aWdf_A011", 9500, "Love it!", "[reply to our story]"),
    "I12": direct("aWdf_A012", 10500, "this one", "[quotes an earlier message]"),
    "I13": direct("aWdf_A013", 11500, "Yes", "[button: CONFIRM_YES]"),
    "I14": direct("aWdf_A014", 12500, "Hi", AD, "[referral: spring]"),
    "I15": direct("aWdf_A015", 12600, "Size?", "[product: 5500000000000001]"),
    "I16": Echo(ON_INSTAGRAM, "aWdf_A016", BASE_MS + 13500, "We answer from 9"),
    "I17": Echo(ON_INSTAGRAM, "aWdf_A017", BASE_MS + 13600, notes=('[card: "Card"]',)),
    "I18": CustomerMessage(
        OURSELVES, MessageKind.MESSAGE, "aWdf_A018", BASE_MS + 14500, "test", closed_as=SilenceReason.SELF
    ),
    "I19": Deletion(ON_INSTAGRAM, "aWdf_A001", BASE_MS + 15500),
    "I20": Edit(ON_INSTAGRAM, "aWdf_A001", BASE_MS + 16500, "Is the RED one in stock?", 1),
    "I21": Noted("ghost_edit", INSTAGRAM),
    "I22a": CustomerAction(ON_INSTAGRAM, "reaction", BASE_MS + 18500),
    "I22b": Noted("reaction", INSTAGRAM),
    "I23": Noted("read", INSTAGRAM),
    "I24": CustomerMessage(
        ON_INSTAGRAM, MessageKind.POSTBACK, "aWdf_A024", BASE_MS + 20500, "Opening hours", ("[button: HOURS]",)
    ),
    "I25": CustomerAction(ON_INSTAGRAM, "referral", BASE_MS + 21500),
    "I26": direct("aWdf_A026", 22500, "anyone there?", closed_as=SilenceReason.STANDBY),
    "I27": Noted("test_event", "0"),
    "I28": Noted("test_event", "0"),
    "I29": Noted("comment", INSTAGRAM),
    "I30": Noted("mention", INSTAGRAM),
    "M01": page("m_B001", 100500, "Hello"),
    "M02": page("m_B002", 101500, "", "[sticker]"),
    "M03a": page("m_B003", 102500, "see https://example.invalid/v", '[link: "A video"]'),
    "M03b": Echo(ON_MESSENGER, "m_B004", BASE_MS + 102600, "", "555000111222333", notes=('[link: "Legacy"]',)),
    "M04": page("m_B005", 103500, "", '[shared post: "Post title"]'),
    "M05": page("m_B006", 104500, "", "[location: 50.1, 8.6]"),
    "M06a": page("m_B007", 105500, "", '[product: "Mug"]'),
    "M06b": page("m_B008", 105600, "", "[appointment: requested, 2026-09-22 18:00 UTC]"),
    "M07": Echo(ON_MESSENGER, "m_B009", BASE_MS + 106500, "Our answer", "555000111222333", "run:7f3a"),
    "M08": Echo(ON_MESSENGER, "m_B010", BASE_MS + 107500, "Hi, Maria here", "263902037430900"),
    "M09a": Noted("delivery", PAGE),
    "M09b": Noted("read", PAGE),
    "M10": CustomerAction(ON_MESSENGER, "reaction", BASE_MS + 110500),
    "M11": Edit(ON_MESSENGER, "m_B001", BASE_MS + 111500, "Hello again", 2),
    "M12": CustomerMessage(
        ON_MESSENGER,
        MessageKind.POSTBACK,
        "m_B012",
        BASE_MS + 112500,
        "Get Started",
        ("[referral: qr-1]", "[button: GET_STARTED]"),
    ),
    "M13": CustomerMessage(
        ON_MESSENGER,
        MessageKind.POSTBACK,
        "pb:008918f2349d14a4c6227b6a6050accb",  # sha256 of the item with its keys sorted
        BASE_MS + 113500,
        "Get Started",
        closed_as=SilenceReason.STANDBY,
    ),
    "M14": CustomerAction(ON_MESSENGER, "referral", BASE_MS + 114500),
    "M15a": Noted("referral", PAGE),
    "M15b": Noted("lead_summary", PAGE),
    "M16a": ThreadControl(ON_MESSENGER, "pass", BASE_MS + 117500, "555000111222333"),
    "M16b": ThreadControl(ON_MESSENGER, "take", BASE_MS + 117600, "263902037430900"),
    "M16c": Noted("request_thread_control", PAGE),
    "M16d": Noted("app_roles", PAGE),
    "M17": Noted("optin", PAGE),
    "M18": PolicyEnforcement(Channel.MESSENGER, PAGE, "block", BASE_MS + 119500, "Too many unsolicited messages"),
    "M19a": Noted("account_linking", PAGE),
    "M19b": Noted("response_feedback", PAGE),
    "M19c": Noted("order", PAGE),
    "M20": Noted("comment", PAGE),
    "M21a": page("m_B022", 122500, "flights to Bonn"),
    "M21b": CustomerMessage(
        PLUGIN_VISITOR, MessageKind.POSTBACK, "m_B023", BASE_MS + 122000, "Start", ("[button: START]",)
    ),
}


def test_an_album_keeps_where_its_pictures_are() -> None:
    (event,) = translate_raw((PAYLOADS / "I02.json").read_bytes())

    assert isinstance(event, CustomerMessage)
    assert [(m.kind, m.note) for m in event.media] == [(MediaKind.IMAGE, 0), (MediaKind.IMAGE, 1)]
    assert "sig=" not in repr(event), "whoever has the address can see the picture"


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_known_payload_becomes_its_event(name: str) -> None:
    raw = (PAYLOADS / f"{name}.json").read_bytes()

    assert translate_raw(raw) == [EXPECTED[name]]


def test_every_payload_is_listed() -> None:
    assert sorted(path.stem for path in PAYLOADS.glob("[IM]*.json")) == sorted(EXPECTED)
