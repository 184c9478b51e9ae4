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
    "ids_and_times/numbers_for_ids": seen(
        "restfb messaging-message-prior.json: numbers for ids", Answered("Is it still there?")
    ),
    "ids_and_times/times_in_iso_8601": seen(
        "chatwoot spec/factories/instagram: ISO 8601 times", Answered("Hello from the past tense")
    ),
    "ids_and_times/no_entry_id_and_no_time": seen(
        "uniericuni/Facebook-Chatbot-Blueprint: no entry id, no time", Answered("hello, world!")
    ),
    "ids_and_times/numbers_past_all_bounds": seen(
        "numbers_for_ids, with numbers past all bounds", Answered("[location]\nBig numbers")
    ),
    "ids_and_times/null_for_a_mid": seen("message without a mid: null", Answered("No id at all")),
    "ids_and_times/old_mid_as_a_number": seen("old mids without their prefix, as a number", Answered("An old id")),
    "ids_and_times/addressed_to_the_linked_page": seen(
        "chatwoot #4235: addressed to the linked Page", Answered("Which id is yours?")
    ),
    "ids_and_times/all_properties_are_text": seen(
        "Meta's postback page: all properties are strings", Answered("Time is text")
    ),
    "ids_and_times/parties_are_bare_ids": seen("parties that are bare ids", Answered("Bare ids")),
    # Attachments.
    "attachments/fallback_whose_payload_is_text": seen(
        "restfb PR 504: a fallback whose payload is text", Answered('[link: "An old page"]')
    ),
    "attachments/article_without_payload": seen(
        "botman PR 411: a shared article, payload null", Answered('[link: "Enamel mug, 0.3 l"]\nEnamel mug')
    ),
    "attachments/thumbs_up_as_an_image": seen(
        "hartleybrody/fb-messenger-bot #11: a thumbs-up as an image", Answered("[sticker]")
    ),
    "attachments/sticker_without_url": seen(
        "a sticker that is an image without a URL (public test of a webhook)", Answered("[sticker]")
    ),
    "attachments/bare_type": seen("nyaruka/courier like_heart.json: a bare type", Answered("[heart]")),
    "attachments/reel_with_video_id_and_quotes": seen(
        "ig_reel with `video_id`; a caption with quotes and brackets", Answered("[reel: \"New 'drop' (sale) 🔥\"]")
    ),
    "attachments/photo_without_url": seen("a photo without a URL: accounts that are private", Answered("[photo]")),
    "attachments/no_type_and_null": seen(
        "an attachment without a type, and one that is null", Answered("[attachment: unknown]\n" * 2)
    ),
    "attachments/template_from_a_customer": seen(
        "restfb messaging-button-template.json: from a customer", Answered("[template]")
    ),
    "attachments/appointment_with_times_as_text": seen(
        "appointment with its times as text", Answered("[appointment: unknown]")
    ),
    "attachments/product_with_gaps": seen(
        "restfb product-template-2: a product with gaps", Answered('[product: "Mug"]\nThis one')
    ),
    "attachments/reply_to_a_lost_story_with_photo": seen(
        "chatwoot #13354: a story reply with a photo, the story gone", Answered("[reply to our story]\n[photo]")
    ),
    "attachments/view_once_media_beside_words": seen(
        "chatwoot PR 13003: view-once media beside words", Answered("[unsupported message]\nLook fast")
    ),
    "attachments/share_and_unknown_type": seen(
        "chatwoot PR 12992: share and ig_post; a type nobody has named yet",
        Answered("[shared post]\n[attachment: xma_carousel]"),
    ),
    "attachments/post_without_title_beside_words": seen(
        "botpress: ig_post without a title, beside words", Answered("[shared post]\nThis one in red?")
    ),
    # Words.
    "words/nlp_entities": seen("restfb messaging-message-nlp: entities and tags", Answered("Tomorrow at five in Bonn")),
    "words/quick_reply_without_payload": seen("a quick reply without payload", Answered("Yes")),
    "words/quick_reply_without_words": seen("a quick reply without words", Answered("[button: SIZE_M]")),
    "words/optional_fields_null": seen("every optional field null", Answered("Hi there")),
    "words/attachments_are_no_list": seen(
        "attachments that are no list (public test of a webhook)", Answered("Hi again")
    ),
    "words/mid_alone": seen("a message of a mid alone (public test of a webhook)", Answered("")),
    "words/unsupported_with_empty_list": seen("chatwoot PR 4100: unsupported, with an empty list", Answered("")),
    "words/keys_twice": seen("keys twice: the last one counts, as in every common parser", Answered("second")),
    "words/half_a_surrogate_pair": seen("half a surrogate pair", Answered("Half \ufffd an emoji")),
    "words/control_characters": seen(
        "NUL, bell, line separator and direction override", Answered("[button: XY )Z]\nab\x07 c\u2028d\u202ee")
    ),
    "words/invisible_characters_only": seen("nothing but invisible characters", Answered("")),
    "words/nested_deep_without_mid": seen("restfb nlp: nested deep, without a mid", Answered("Deep down")),
    "words/hop_context_with_gaps": seen("hop_context with gaps", Answered("From the menu bot")),
    "words/number_for_words": seen("a number for words", Answered("42")),
    "words/two_event_keys_in_one_item": seen("two event keys in one item", Answered("And seen too")),
    "words/ad_with_everything_null": seen(
        "Click-to-Messenger with everything null", Answered("[came from an ad]\nSaw your ad")
    ),
    # Envelopes.
    "envelopes/postback_in_changes": seen(
        "chatwoot PR 15294: a postback in `changes`", Answered("[button: HOURS]\nOpening hours")
    ),
    "envelopes/list_of_bodies": seen(
        "Meta's Instagram examples: a list of bodies; restfb permission-granted; another product's webhook",
        Answered("First body"),
        Nothing("unknown_object"),
        Nothing("unknown_object"),
    ),
    "envelopes/objects_for_lists": seen("objects where lists belong", Answered("[photo]\nNo arrays at all")),
    "envelopes/no_entries": seen("nyaruka/courier noEntries"),
    "envelopes/items_that_are_none": seen(
        "items that are none, and a message beside them", Answered("Beside all that"), *[Nothing("unparsable")] * 4
    ),
    "envelopes/entry_is_no_object": seen("an entry that is no object", Nothing("unparsable")),
    "envelopes/quick_start_test": seen(
        "Meta's quick start, as in Dmdv/NodejsPlayground: a test by hand", Nothing("unknown_account")
    ),
    "envelopes/message_of_nobody": seen("a message of nobody", Nothing("no_customer")),
    # One message, several times.
    "several_times/in_messaging_and_standby": seen(
        "in `messaging` and `standby` at once", Answered("In both lists"), Nothing("duplicate")
    ),
    "several_times/standby_first": seen("in `standby` first", Answered("Standby came first")),
    "several_times/tap_for_both_apps": seen(
        "ker0x/messenger #72: a tap for both apps, on standby without its payload",
        Answered("[button: DETAILS_7]\nDetails"),
        Silenced("standby"),
    ),
    "several_times/standby_of_all_sorts": seen(
        "chatwoot #5906: standby of all sorts", Silenced("standby"), Nothing("standby"), Nothing("standby")
    ),
    "several_times/twice_in_one_batch": seen(
        "jgorset/facebook-messenger #46: twice in one batch", Answered("Said once"), Nothing("duplicate")
    ),
    "several_times/account_connected_twice": seen(
        "chatwoot base_message_builder: connected twice", Answered("Connected twice"), Nothing("duplicate")
    ),
    # Plug-ins.
    "plugins/optin_by_user_ref": seen("restfb messaging-optin-userref.json", Nothing("optin")),
    "plugins/chat_postback_without_title": seen(
        "restfb messaging-postback-chat.json: no title, ref null", Answered("[button: hey]")
    ),
    "plugins/link_opened_without_an_id": seen(
        "chat plug-in: a link opened by somebody without an id", Nothing("referral")
    ),
    "plugins/discover_tab": seen("amuramoto/messenger-node mocks.js: discover tab", Nothing("referral")),
    # Our own side.
    "our_side/echo_with_parties_not_swapped": seen(
        "chatwoot spec: an echo whose parties are not swapped", HumanAtWork("[mentioned us in a story]")
    ),
    "our_side/thread_taken_by_an_unknown_app": seen(
        "amuramoto/messenger-node mocks.js: taken, by whom is not said", HumanAtWork()
    ),
    "our_side/echo_flag_is_text": seen("an echo whose flag is text", HumanAtWork("From the phone")),
    # What is only counted.
    "only_counted/older_dashboard_test": seen(
        "chatwoot spec: an older form of the dashboard's test", Nothing("unknown_change")
    ),
    "only_counted/comment_without_author": seen("restfb #859: a comment without an author", Nothing("comment")),
    "only_counted/story_insights": seen("restfb #859: story insights", Nothing("unknown_change")),
    "only_counted/page_conversations": seen("restfb page-conversations-25.json", Nothing("unknown_change")),
    "only_counted/checkout_update": seen("amuramoto/messenger-node mocks.js: checkout_update", Nothing("unknown")),
    "only_counted/retired_and_unknown_keys": seen(
        "payments, games and feedback: retired or unknown keys", *[Nothing("unknown")] * 3
    ),
    "only_counted/policy_enforcement_with_a_hyphen": seen(
        "amuramoto/messenger-node mocks.js: policy-enforcement with a hyphen",
        Told("account:messenger:104400000000001:policy_block"),
    ),
    "only_counted/edit_numbered_0": seen(
        "chatwoot #15494: an edit numbered 0, with its parties", Nothing("ghost_edit")
    ),
    "only_counted/edit_number_as_text": seen(
        "restfb messaging-message-edits.json: the number as text", Nothing("edit")
    ),
    "only_counted/reaction_without_emoji": seen("a reaction without emoji", Nothing("reaction")),
    "only_counted/reaction_in_changes": seen("a reaction in `changes`", Nothing("reaction")),
    "only_counted/leadgen": seen("restfb leadgen.json", Nothing("unknown_change")),
    "only_counted/feed_and_ratings": seen(
        "restfb feed-*.json, ratings-*.json",
        Nothing("feed"),
        Nothing("feed"),
        Nothing("comment"),
        Nothing("unknown_change"),
    ),
    "only_counted/delivery_without_mids": seen("a delivery without mids, its watermark as text", Nothing("delivery")),
}
