"""The troubles that receivers and senders of others have had in the field, and what keeps each of them from us."""

from tests.webhooks.troubles.further_table import FURTHER_TROUBLES
from tests.webhooks.troubles.trouble import (
    BACK,
    EVENTS,
    HUMAN_WORDS,
    ITEM_KINDS,
    ITEMS,
    LATE,
    LOOK_UPS,
    MAIN_JOB,
    OUTCOMES,
    TALKED_TO,
    TRANSLATE,
    TURNS,
    Trouble,
)

TROUBLES: dict[int, Trouble] = {
    1: Trouble(
        "an entry without `messaging`",
        payloads=(
            "instagram/messages/on_standby",
            "instagram/events/comment",
            "field/only_counted/story_insights",
            "field/only_counted/page_conversations",
            "field/envelopes/no_entries",
        ),
        tests=(TRANSLATE + "test_an_entry_without_items_is_noted",),
    ),
    2: Trouble("a standby postback without payload", payloads=("messenger/messages/standby_postback_without_payload",)),
    3: Trouble(
        "a slow handler has every event again and answers it again",
        tests=(MAIN_JOB + "test_the_same_webhook_five_times_is_one_message", TURNS + "test_one_poke_is_one_claim"),
    ),
    4: Trouble(
        "a new attachment type drops the whole batch",
        payloads=(
            "instagram/messages/shared_post_with_caption",
            "instagram/messages/shared_story",
            "instagram/messages/view_once_media",
            "messenger/messages/sticker",
            "messenger/messages/shared_post",
            "field/attachments/bare_type",
            "field/attachments/no_type_and_null",
            "field/attachments/share_and_unknown_type",
        ),
        ends=TALKED_TO,
        tests=(
            "tests/webhooks/test_mutations.py::test_an_item_with_faults_is_one_event_and_leaves_its_neighbours_alone",
        ),
    ),
    5: Trouble(
        "a sticker without text",
        payloads=(
            "field/attachments/thumbs_up_as_an_image",
            "field/attachments/sticker_without_url",
            "field/attachments/bare_type",
        ),
        ends=TALKED_TO,
    ),
    6: Trouble(
        "an unknown event key",
        payloads=("field/only_counted/checkout_update", "field/only_counted/retired_and_unknown_keys"),
        tests=(ITEM_KINDS + "test_unknown_kinds_are_noted",),
    ),
    7: Trouble("a read with a mid or a watermark", payloads=("instagram/events/read", "messenger/events/read")),
    8: Trouble(
        "our own echo taken for a customer's words",
        payloads=(
            "instagram/events/echo_of_words",
            "messenger/events/own_echo_with_metadata",
            "messenger/events/echo_of_a_human",
            "field/our_side/echo_with_parties_not_swapped",
            "field/our_side/echo_flag_is_text",
        ),
        tests=(ITEMS + "test_our_own_words_without_the_echo_flag_are_still_an_echo",),
    ),
    9: Trouble(
        "an echo that overtakes the answer of the send",
        tests=(
            "tests/end_to_end/test_takeover.py::test_an_echo_before_the_answer_of_the_send_is_ours",
            HUMAN_WORDS + "test_our_echo_before_the_call_returns_is_no_human",
        ),
    ),
    10: Trouble(
        "echoes known for too short a time",
        tests=(
            TURNS + "test_an_echo_forty_seconds_late_is_still_ours",
            TURNS + "test_a_late_echo_of_words_that_may_have_arrived_is_no_humans",
        ),
    ),
    11: Trouble(
        "a template that is recorded twice",
        payloads=("instagram/events/echo_of_a_card", "messenger/events/own_echo_of_a_link"),
        tests=(OUTCOMES + "test_a_payload_sent_again_changes_nothing",),
    ),
    12: Trouble(
        "one channel without a check for known mids", tests=(OUTCOMES + "test_a_mid_is_known_again_on_either_channel",)
    ),
    13: Trouble(
        "echoes of words typed in the app stopped coming",
        tests=(
            BACK + "test_a_manager_whose_echo_never_comes_is_not_talked_over",
            LATE + "test_late_words_close_what_waited_for_people_and_leave_what_came_after",
        ),
    ),
    14: Trouble(
        "a manager's words shown as the bot's",
        tests=(OUTCOMES + "test_a_payload_comes_to_its_end",),
        payloads=("instagram/events/echo_of_words", "messenger/events/echo_of_a_human"),
    ),
    15: Trouble(
        "an echo to somebody who never wrote",
        payloads=(
            "instagram/events/echo_of_words",
            "instagram/events/echo_of_a_card",
            "messenger/events/echo_of_a_human",
            "field/our_side/echo_with_parties_not_swapped",
        ),
    ),
    16: Trouble(
        "a profile that Meta keeps to itself", tests=(LOOK_UPS + "test_a_profile_meta_keeps_to_itself_is_empty",)
    ),
    17: Trouble(
        "the dashboard's test event",
        payloads=(
            "instagram/events/dashboard_test_in_changes",
            "instagram/events/dashboard_test_in_messaging",
            "field/only_counted/older_dashboard_test",
        ),
        tests=(ITEMS + "test_a_test_event_for_a_known_account_is_closed_as_one",),
    ),
    18: Trouble(
        "an account under another of its ids",
        payloads=("field/ids_and_times/addressed_to_the_linked_page",),
        ends=TALKED_TO,
        tests=(EVENTS + "test_an_unknown_account_is_taken_counted_and_told_of_once",),
    ),
    19: Trouble(
        "an account linked to another Page",
        payloads=("field/ids_and_times/addressed_to_the_linked_page",),
        ends=TALKED_TO,
        tests=(TRANSLATE + "test_the_account_side_of_the_item_comes_before_the_entry",),
    ),
    20: Trouble(
        "events of some customers never come",
        tests=(
            BACK + "test_a_message_whose_webhook_was_lost_is_answered_once",
            BACK + "test_many_lost_ones_are_an_incident",
            BACK + "test_what_came_before_the_installation_is_left_alone",
        ),
    ),
    21: Trouble("no events at all in development mode", people="the app has to be published in Meta's dashboard"),
    22: Trouble(
        "nothing after a message request until the next message",
        tests=("tests/worker/backfill/test_reconciliation.py::test_every_now_and_then_a_look_goes_all_the_way",),
    ),
    23: Trouble(
        "a story reply without its story",
        payloads=("instagram/messages/reply_to_story", "field/attachments/reply_to_a_lost_story_with_photo"),
        ends=TALKED_TO,
    ),
    24: Trouble(
        "a story mention does not open the window",
        payloads=("instagram/messages/story_mention",),
        ends=TALKED_TO,
        tests=(OUTCOMES + "test_whatever_a_customer_sends_opens_the_window",),
    ),
    25: Trouble(
        "an unsupported message becomes an empty prompt",
        payloads=(
            "instagram/messages/view_once_media",
            "instagram/messages/unsupported",
            "field/words/mid_alone",
            "field/words/unsupported_with_empty_list",
            "field/words/invisible_characters_only",
        ),
        ends=TALKED_TO,
        tests=(MAIN_JOB + "test_what_nobody_can_open_gets_a_fixed_line_and_no_model_is_paid",),
    ),
    **FURTHER_TROUBLES,
}
