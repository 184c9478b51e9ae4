"""Shapes met in the field, and where: only the shape is taken, ids and words are invented."""

from dataclasses import dataclass

from tests.payloads.kinds import Answered, End, HumanAtWork, Nothing, Silenced, Told


@dataclass(frozen=True, slots=True)
class Seen:
    """`where`: a public place that shows the shape, or what it is derived from."""

    where: str
    ends: tuple[End, ...]


def seen(where: str, *ends: End) -> Seen:
    return Seen(where, ends)


FIELD: dict[str, Seen] = {
    # Ids and times in other types.
    "F01": seen("restfb messaging-message-prior.json: numbers for ids", Answered("Is it still there?")),
    "F07": seen("chatwoot spec/factories/instagram: ISO 8601 times", Answered("Hello from the past tense")),
    "F30": seen("uniericuni/Facebook-Chatbot-Blueprint: no entry id, no time", Answered("hello, world!")),
    "F51": seen("F01 with numbers past all bounds", Answered("[location]\nBig numbers")),
    "F57": seen("message without a mid: null", Answered("No id at all")),
    "F58": seen("old mids without their prefix, as a number", Answered("An old id")),
    "F61": seen("chatwoot #4235: addressed to the linked Page", Answered("Which id is yours?")),
    "F62": seen("Meta's postback page: all properties are strings", Answered("Time is text")),
    "F75": seen("parties that are bare ids", Answered("Bare ids")),
    # Attachments.
    "F02": seen("restfb PR 504: a fallback whose payload is text", Answered('[link: "An old page"]')),
    "F03": seen("botman PR 411: a shared article, payload null", Answered('[link: "Enamel mug, 0.3 l"]\nEnamel mug')),
    "F04": seen("hartleybrody/fb-messenger-bot #11: a thumbs-up as an image", Answered("[sticker]")),
    "F05": seen("a sticker that is an image without a URL (public test of a webhook)", Answered("[sticker]")),
    "F06": seen("nyaruka/courier like_heart.json: a bare type", Answered("[heart]")),
    "F22": seen(
        "ig_reel with `video_id`; a caption with quotes and brackets", Answered("[reel: \"New 'drop' (sale) 🔥\"]")
    ),
    "F27": seen("a photo without a URL: accounts that are private", Answered("[photo]")),
    "F28": seen("an attachment without a type, and one that is null", Answered("[attachment: unknown]\n" * 2)),
    "F42": seen("restfb messaging-button-template.json: from a customer", Answered("[template]")),
    "F52": seen("appointment with its times as text", Answered("[appointment: unknown]")),
    "F53": seen("restfb product-template-2: a product with gaps", Answered('[product: "Mug"]\nThis one')),
    "F65": seen(
        "chatwoot #13354: a story reply with a photo, the story gone", Answered("[reply to our story]\n[photo]")
    ),
    "F71": seen("chatwoot PR 13003: view-once media beside words", Answered("[unsupported message]\nLook fast")),
    "F72": seen(
        "chatwoot PR 12992: share and ig_post; a type nobody has named yet",
        Answered("[shared post]\n[attachment: xma_carousel]"),
    ),
    "F73": seen("botpress: ig_post without a title, beside words", Answered("[shared post]\nThis one in red?")),
    # Words.
    "F19": seen("restfb messaging-message-nlp: entities and tags", Answered("Tomorrow at five in Bonn")),
    "F20": seen("a quick reply without payload", Answered("Yes")),
    "F21": seen("a quick reply without words", Answered("[button: SIZE_M]")),
    "F23": seen("every optional field null", Answered("Hi there")),
    "F24": seen("attachments that are no list (public test of a webhook)", Answered("Hi again")),
    "F25": seen("a message of a mid alone (public test of a webhook)", Answered("")),
    "F26": seen("chatwoot PR 4100: unsupported, with an empty list", Answered("")),
    "F45": seen("keys twice: the last one counts, as in every common parser", Answered("second")),
    "F46": seen("half a surrogate pair", Answered("Half \ufffd an emoji")),
    "F47": seen(
        "NUL, bell, line separator and direction override", Answered("[button: XY )Z]\nab\x07 c\u2028d\u202ee")
    ),
    "F48": seen("nothing but invisible characters", Answered("")),
    "F50": seen("restfb nlp: nested deep, without a mid", Answered("Deep down")),
    "F60": seen("hop_context with gaps", Answered("From the menu bot")),
    "F64": seen("a number for words", Answered("42")),
    "F67": seen("two event keys in one item", Answered("And seen too")),
    "F70": seen("Click-to-Messenger with everything null", Answered("[came from an ad]\nSaw your ad")),
    # Envelopes.
    "F10": seen("chatwoot PR 15294: a postback in `changes`", Answered("[button: HOURS]\nOpening hours")),
    "F43": seen(
        "Meta's Instagram examples: a list of bodies; restfb permission-granted; another product's webhook",
        Answered("First body"),
        Nothing("unknown_object"),
        Nothing("unknown_object"),
    ),
    "F44": seen("objects where lists belong", Answered("[photo]\nNo arrays at all")),
    "F63": seen("nyaruka/courier noEntries"),
    "F68": seen(
        "items that are none, and a message beside them", Answered("Beside all that"), *[Nothing("unparsable")] * 4
    ),
    "F69": seen("an entry that is no object", Nothing("unparsable")),
    "F29": seen("Meta's quick start, as in Dmdv/NodejsPlayground: a test by hand", Nothing("unknown_account")),
    "F31": seen("a message of nobody", Nothing("no_customer")),
    # One message, several times.
    "F32": seen("in `messaging` and `standby` at once", Answered("In both lists"), Nothing("duplicate")),
    "F33": seen("in `standby` first", Answered("Standby came first")),
    "F34": seen(
        "ker0x/messenger #72: a tap for both apps, on standby without its payload",
        Answered("[button: DETAILS_7]\nDetails"),
        Silenced("standby"),
    ),
    "F35": seen("chatwoot #5906: standby of all sorts", Silenced("standby"), Nothing("standby"), Nothing("standby")),
    "F49": seen("jgorset/facebook-messenger #46: twice in one batch", Answered("Said once"), Nothing("duplicate")),
    "F74": seen("chatwoot base_message_builder: connected twice", Answered("Connected twice"), Nothing("duplicate")),
    # Plug-ins.
    "F17": seen("restfb messaging-optin-userref.json", Nothing("optin")),
    "F18": seen("restfb messaging-postback-chat.json: no title, ref null", Answered("[button: hey]")),
    "F36": seen("chat plug-in: a link opened by somebody without an id", Nothing("referral")),
    "F37": seen("amuramoto/messenger-node mocks.js: discover tab", Nothing("referral")),
    # Our own side.
    "F09": seen("chatwoot spec: an echo whose parties are not swapped", HumanAtWork("[mentioned us in a story]")),
    "F38": seen("amuramoto/messenger-node mocks.js: taken, by whom is not said", HumanAtWork()),
    "F59": seen("an echo whose flag is text", HumanAtWork("From the phone")),
    # What is only counted.
    "F08": seen("chatwoot spec: an older form of the dashboard's test", Nothing("unknown_change")),
    "F11": seen("restfb #859: a comment without an author", Nothing("comment")),
    "F12": seen("restfb #859: story insights", Nothing("unknown_change")),
    "F13": seen("restfb page-conversations-25.json", Nothing("unknown_change")),
    "F14": seen("amuramoto/messenger-node mocks.js: checkout_update", Nothing("unknown")),
    "F15": seen("payments, games and feedback: retired or unknown keys", *[Nothing("unknown")] * 3),
    "F16": seen(
        "amuramoto/messenger-node mocks.js: policy-enforcement with a hyphen",
        Told("account:messenger:104400000000001:policy_block"),
    ),
    "F39": seen("chatwoot #15494: an edit numbered 0, with its parties", Nothing("ghost_edit")),
    "F40": seen("restfb messaging-message-edits.json: the number as text", Nothing("edit")),
    "F41": seen("a reaction without emoji", Nothing("reaction")),
    "F54": seen("a reaction in `changes`", Nothing("reaction")),
    "F55": seen("restfb leadgen.json", Nothing("unknown_change")),
    "F56": seen(
        "restfb feed-*.json, ratings-*.json",
        Nothing("feed"),
        Nothing("feed"),
        Nothing("comment"),
        Nothing("unknown_change"),
    ),
    "F66": seen("a delivery without mids, its watermark as text", Nothing("delivery")),
}
