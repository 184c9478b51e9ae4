"""The second half of the table in `table.py`, which would be too long for one file."""

from tests.payloads.kinds import Answered, Nothing
from tests.webhooks.troubles.trouble import (
    BACK,
    ECHOES_OF_NO_HUMAN,
    ERRORS,
    EVENTS,
    ITEM_KINDS,
    LOOK_UPS,
    MAIN_JOB,
    REFUSED_POSTS,
    ROUTING,
    SCALING,
    SENDS,
    SIGNATURE,
    TAGS,
    TALKED_TO,
    TRANSLATE,
    VERIFICATION,
    Trouble,
)

FURTHER_TROUBLES: dict[int, Trouble] = {
    26: Trouble(
        "a fallback without url or payload",
        payloads=(
            "messenger/messages/link_with_words",
            "field/attachments/fallback_whose_payload_is_text",
            "field/attachments/article_without_payload",
            "field/attachments/photo_without_url",
            "field/attachments/no_type_and_null",
        ),
        ends=TALKED_TO,
    ),
    27: Trouble(
        "an edit numbered 0 around a new message",
        payloads=("instagram/events/ghost_edit", "field/only_counted/edit_numbered_0"),
        tests=(
            ITEM_KINDS + "test_an_edit_that_changes_nothing_is_a_ghost",
            ITEM_KINDS + "test_a_ghost_is_to_be_read",
            BACK + "test_a_message_that_only_a_ghost_edit_tells_of_is_answered",
            BACK + "test_with_its_webhook_beside_it_is_answered_once_and_not_read_in_vain",
        ),
    ),
    28: Trouble(
        "signatures that fail for accents only",
        tests=(
            SIGNATURE + "test_known_bodies_match_their_published_signatures",
            SIGNATURE + "test_a_body_that_a_proxy_decoded_still_matches",
        ),
    ),
    29: Trouble(
        "unsigned bodies are taken",
        tests=(
            REFUSED_POSTS + "test_an_unsigned_body_is_forbidden_and_does_nothing",
            REFUSED_POSTS + "test_without_a_secret_there_is_no_endpoint",
            "tests/webhooks/guards/test_heads.py::test_any_request_is_answered_or_hung_up_on",
        ),
    ),
    30: Trouble("HUMAN_AGENT on a bot's reply", tests=(TAGS + "test_no_code_of_ours_knows_a_message_tag",)),
    31: Trouble("tags that Meta has removed", tests=(TAGS + "test_no_code_of_ours_knows_a_message_tag",)),
    32: Trouble(
        "a limit taken in characters where Meta counts bytes",
        tests=(
            "tests/bot/reply/test_splitting.py::test_instagram_counts_bytes_and_messenger_characters",
            MAIN_JOB + "test_a_long_reply_arrives_in_parts_that_the_channel_takes",
        ),
    ),
    33: Trouble(
        "a thread that another app owns",
        tests=(
            ERRORS + "test_the_planner_is_told_the_failure",
            ROUTING + "test_a_thread_that_another_app_has_is_deferred",
        ),
    ),
    34: Trouble("a customer unknown to this token", tests=(ERRORS + "test_numbers_decide_whatever_the_words",)),
    35: Trouble("no Advanced Access", tests=(ERRORS + "test_every_line_of_the_table_is_documented",)),
    36: Trouble(
        "a closed window, tried three times",
        tests=(
            "tests/clients/graph/test_send_failures.py::test_a_closed_window_is_told_apart_from_other_refusals",
            SENDS + "test_a_closed_window_expires_the_message_and_tells_the_managers",
        ),
    ),
    37: Trouble(
        "a token that has expired in silence", tests=(LOOK_UPS + "test_a_dead_token_shows_in_a_profile_look_up_too",)
    ),
    38: Trouble(
        "first messages of one customer side by side, and out of order",
        tests=(
            MAIN_JOB + "test_a_burst_of_three_messages_is_answered_once",
            SCALING + "test_a_burst_that_comes_through_both_doors_is_one_conversation",
        ),
    ),
    39: Trouble("names of fields of one channel given to the other", people="set in Meta's dashboard"),
    40: Trouble(
        "two connections of one account deliver twice",
        payloads=("field/several_times/account_connected_twice",),
        ends=(Answered, Nothing),
        tests=(SCALING + "test_what_meta_sends_to_both_doors_is_stored_once",),
    ),
    41: Trouble(
        "an id of one channel used on the other", tests=(TRANSLATE + "test_the_channel_is_part_of_the_contact",)
    ),
    42: Trouble(
        "Meta's own automatic reply beside the bot's",
        tests=(ECHOES_OF_NO_HUMAN + "test_an_echo_right_after_the_customers_words_is_metas_own",),
    ),
    43: Trouble(
        "a customer who is gone, for ever tried again",
        tests=(SENDS + "test_a_customer_who_is_gone_is_undeliverable",),
    ),
    44: Trouble(
        "a verification that needs the rest of the house",
        tests=(
            VERIFICATION + "test_verification_needs_no_redis",
            "tests/webhooks/test_process.py::test_without_redis_it_verifies_refuses_and_stops_in_order",
        ),
    ),
    45: Trouble(
        "an ig_post fails a closed schema, words and all",
        payloads=(
            "instagram/messages/shared_post_with_caption",
            "instagram/messages/shared_post_by_link",
            "field/attachments/share_and_unknown_type",
            "field/attachments/post_without_title_beside_words",
        ),
        ends=TALKED_TO,
    ),
    46: Trouble(
        "other objects and bad JSON refused",
        payloads=("field/envelopes/entry_is_no_object",),
        tests=(
            TRANSLATE + "test_an_object_we_do_not_serve_is_noted",
            "tests/webhooks/test_endpoints.py::test_a_signed_body_that_makes_no_sense_is_accepted_and_counted",
        ),
    ),
    47: Trouble("any verify token passes", tests=(VERIFICATION + "test_any_other_verification_is_refused",)),
    48: Trouble(
        "a plain hash in place of an HMAC",
        tests=(
            SIGNATURE + "test_known_bodies_match_their_published_signatures",
            SIGNATURE + "test_exactly_the_signed_bytes_match",
        ),
    ),
    49: Trouble(
        "only the first item is read",
        payloads=("field/envelopes/list_of_bodies",),
        ends=(Answered, Nothing),
        tests=(
            TRANSLATE + "test_all_items_of_all_entries_are_read",
            EVENTS + "test_a_batch_of_a_thousand_is_taken_and_answered_in_full",
        ),
    ),
}
