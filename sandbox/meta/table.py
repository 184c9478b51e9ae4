"""Meta's error table as data: each row has a name, the numbers Meta answers with, and what they mean for a sender."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Meaning(StrEnum):
    """What may be done about a refusal, told apart by who can act and when."""

    RETRY = "retry later"
    THROTTLED = "the account pauses"
    UNKNOWN = "the outcome is unknown: find out first"
    OPERATOR = "token, permission or setting: the account stops"
    RECIPIENT = "this customer never"
    CONTENT = "this message never"
    WINDOW = "the window is closed"
    OTHER_APP = "another app has the thread"
    NO_PROFILE = "no profile, and no reason not to answer"
    UNREADABLE = "this message cannot be read back"


@dataclass(frozen=True, slots=True)
class Row:
    """`delivered`: Meta says error though the message went out. `on`: the kind of call that meets it."""

    name: str
    code: int
    subcode: int | None
    meaning: Meaning
    delivered: bool = False
    on: Literal["messages", "reads"] = "messages"


_R, _T, _U, _K = Meaning.RETRY, Meaning.THROTTLED, Meaning.UNKNOWN, Meaning.OPERATOR
_P, _C, _W, _H = Meaning.RECIPIENT, Meaning.CONTENT, Meaning.WINDOW, Meaning.OTHER_APP
_N, _L = Meaning.NO_PROFILE, Meaning.UNREADABLE

ROWS = (
    Row("unknown_error", 1, None, _U),
    Row("unknown_permission", 1, 99, _U),
    Row("sent_all_the_same", 1, 1357046, _U, delivered=True),
    Row("service_error", 2, None, _U),
    Row("service_unavailable", 2, 1545133, _R),
    Row("label_terms_not_accepted", 2, 2018344, _K),
    Row("capability_missing", 3, None, _K),
    Row("app_limit", 4, None, _T),
    Row("throttling_1349210", 4, 1349210, _T),
    Row("throttling_1349211", 4, 1349211, _T),
    Row("throttling_1349212", 4, 1349212, _T),
    Row("user_limit", 17, None, _T),
    Row("page_limit", 32, None, _T),
    Row("too_many_optin_requests", 9, 2018352, _C),
    Row("permission_missing", 10, None, _K),
    Row("window_closed_messenger", 10, 2018278, _W),
    Row("window_closed_instagram", 10, 2534022, _W),
    Row("window_closed_news", 10, 2018065, _W),
    Row("cannot_receive_now", 10, 2018108, _P),
    Row("page_restricted", 10, 1893063, _K),
    Row("page_link_problem", 10, 2534077, _K),
    Row("regional_rules", 10, 2018336, _P),
    Row("no_routing", 27, None, _K),
    Row("bad_parameter", 100, None, _C),
    Row("object_missing", 100, 33, _C),
    Row("no_matching_user", 100, 2018001, _P),
    Row("attachment_not_fetched", 100, 2018008, _C),
    Row("attachment_type", 100, 2018047, _C),
    Row("attachment_video", 100, 2018294, _C),
    Row("attachment_size", 100, 2018109, _C),
    Row("attachment_id", 100, 2018074, _C),
    Row("message_and_action", 100, 2018014, _C),
    Row("no_instagram_account", 100, 2534013, _K),
    Row("no_such_instagram_user", 100, 2534014, _P),
    Row("message_data_not_valid", 100, 2534015, _C),
    Row("comment_not_valid", 100, 2534025, _C),
    Row("business_blocked", 100, 2534029, _K),
    Row("not_thread_owner", 100, 2534037, _H),
    Row("thread_archived", 100, 2534001, _P),
    Row("session_invalid", 102, None, _K),
    Row("token_invalid", 190, None, _K),
    Row("app_removed", 190, 458, _K),
    Row("checkpoint", 190, 459, _K),
    Row("password_changed", 190, 460, _K),
    Row("token_expired", 190, 463, _K),
    Row("user_unconfirmed", 190, 464, _K),
    Row("token_malformed", 190, 467, _K),
    Row("session_mismatch", 190, 492, _K),
    Row("not_permitted", 200, None, _K),
    Row("person_unavailable_200", 200, 1545041, _P),
    Row("person_unavailable_551", 551, 1545041, _P),
    Row("person_unavailable", 551, None, _P),
    Row("no_app_review", 200, 2018028, _K),
    Row("messages_access_off", 200, 2534041, _K),
    Row("no_consent", 230, None, _N, on="reads"),
    Row("application_limit", 341, None, _T),
    Row("policy_blocked", 368, None, _K),
    Row("duplicate_post", 506, None, _C),
    Row("custom_limit", 613, None, _T),
    Row("instagram_messaging_limit", 613, 2534040, _T),
    Row("odd_pattern", 613, 1996, _T),
    Row("abusive_tag_use", 613, 2018338, _K),
    Row("temporary_send_failure", 1200, None, _U),
    Row("instagram_server_error", -1, 2207001, _U),
    Row("media_timeout", -2, 2207003, _U),
    Row("media_expired", -2, 2207020, _U),
    Row("pages_limit", 80001, None, _T),
    Row("instagram_limit", 80002, None, _T),
    Row("messenger_limit", 80006, None, _T),
    Row("profile_unavailable", 100, 2018218, _N, on="reads"),
    Row("profile_feature_missing", 100, 2018247, _N, on="reads"),
    Row("no_matching_instagram_user", 9010, None, _N, on="reads"),
    Row("thread_controlled_by_app", 10, 2018300, _H),
    Row("thread_controlled_by_flow", 10, 2018321, _H),
    Row("commerce_disabled", 2022, None, _K),
    Row("account_not_eligible", 36103, None, _K),
    Row("message_unreadable", 9000001, None, _L, on="reads"),
    Row("page_not_allow_listed", 2018389, None, _K),
    Row("a_code_nobody_knows", 424242, None, _U),
)
BY_NAME = {row.name: row for row in ROWS}
