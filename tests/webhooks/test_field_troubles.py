"""The troubles that receivers and senders of others have had in the field, and what keeps each of them from us."""

import ast
from dataclasses import dataclass
from functools import cache

import pytest

from tests.payloads.ends import ENDS
from tests.payloads.kinds import Answered, End, HumanAtWork, Nothing, Silenced
from tests.rooms import ROOT

TRANSLATE = "tests/webhooks/test_translate.py::"
SIGNATURE = "tests/webhooks/test_signature.py::"
TAKEOVER = "tests/store/turns/test_takeover.py::"
STATES = "tests/store/turns/test_conversation_states.py::"
OUTCOMES = "tests/store/incoming/test_payload_outcomes.py::"
MAIN_JOB = "tests/end_to_end/test_main_job.py::"
EVENTS = "tests/end_to_end/test_meta_events.py::"
SCALING = "tests/end_to_end/test_scaling.py::"
GRAPH = "tests/clients/graph/test_api.py::"
ERRORS = "tests/clients/graph/test_errors.py::"
BACK = "tests/end_to_end/test_reading_back.py::"
LATE = "tests/store/incoming/test_late_events.py::"
LOOK_UPS = "tests/clients/graph/test_look_ups.py::"
ITEM_KINDS = "tests/webhooks/test_item_kinds.py::"
ITEMS = "tests/webhooks/test_items.py::"
REFUSED_POSTS = "tests/webhooks/test_refused_posts.py::"
VERIFICATION = "tests/webhooks/test_verification.py::"
TAGS = "tests/clients/graph/test_message_tags.py::"

TALKED_TO = (Answered,)
SILENT = (Silenced, HumanAtWork, Nothing)


@dataclass(frozen=True, slots=True)
class Trouble:
    """`payloads` carry it and end only as `ends` allows; `tests` hold the rest; `people` says why no test can."""

    what: str
    payloads: tuple[str, ...] = ()
    ends: tuple[type[End], ...] = SILENT
    tests: tuple[str, ...] = ()
    people: str = ""


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
        tests=(MAIN_JOB + "test_the_same_webhook_five_times_is_one_message", STATES + "test_one_poke_is_one_claim"),
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
            TAKEOVER + "test_our_echo_before_the_call_returns_is_no_human",
        ),
    ),
    10: Trouble(
        "echoes known for too short a time",
        tests=(
            STATES + "test_an_echo_forty_seconds_late_is_still_ours",
            STATES + "test_a_late_echo_of_words_that_may_have_arrived_is_no_humans",
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
            "tests/webhooks/guards/test_raw_http.py::test_any_request_is_answered_or_hung_up_on",
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
            TAKEOVER + "test_a_thread_that_another_app_has_is_deferred",
        ),
    ),
    34: Trouble("a customer unknown to this token", tests=(ERRORS + "test_numbers_decide_whatever_the_words",)),
    35: Trouble("no Advanced Access", tests=(ERRORS + "test_every_line_of_the_table_is_documented",)),
    36: Trouble(
        "a closed window, tried three times",
        tests=(
            "tests/clients/graph/test_send_failures.py::test_a_closed_window_is_told_apart_from_other_refusals",
            MAIN_JOB + "test_a_closed_window_expires_the_message_and_tells_the_managers",
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
        tests=(TAKEOVER + "test_an_echo_right_after_the_customers_words_is_metas_own",),
    ),
    43: Trouble(
        "a customer who is gone, for ever tried again",
        tests=(MAIN_JOB + "test_a_customer_who_is_gone_is_undeliverable",),
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


@cache
def functions_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_every_trouble_is_listed_and_held_by_something() -> None:
    assert sorted(TROUBLES) == list(range(1, 50))
    for number, trouble in TROUBLES.items():
        assert bool(trouble.people) != bool(trouble.payloads or trouble.tests), number


@pytest.mark.parametrize("number", sorted(TROUBLES))
def test_the_tests_that_hold_a_trouble_exist(number: int) -> None:
    for node in TROUBLES[number].tests:
        path, _, name = node.partition("::")
        assert name in functions_in(path), node


@pytest.mark.parametrize("number", sorted(TROUBLES))
def test_the_payloads_of_a_trouble_end_as_they_should(number: int) -> None:
    """That they do end so is checked with the payloads themselves."""
    trouble = TROUBLES[number]
    for name in trouble.payloads:
        assert all(isinstance(end, trouble.ends) for end in ENDS[name]), name
