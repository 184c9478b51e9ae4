import pickle

import pytest

from bot.errors import NeedsOperator, NightshiftError, OutcomeUnknown, Refused, Transient
from bot.retry import Failure
from clients.graph import errors as graph_errors
from clients.graph.errors import (
    TABLE,
    AccountRestricted,
    BadContent,
    GraphAPIError,
    GraphAPIUnavailable,
    MessageUnreadable,
    MessagingWindowClosed,
    ObjectMissing,
    PermissionInDoubt,
    PermissionMissing,
    ProfileUnavailable,
    RecipientGone,
    SendOutcomeUnknown,
    ThreadOwnedByAnother,
    Throttled,
    TokenInvalid,
    error_class,
    error_from_body,
    failure_of,
)

KINDS = (Transient, OutcomeUnknown, NeedsOperator, Refused)
LEAVES = [
    leaf
    for leaf in vars(graph_errors).values()
    if isinstance(leaf, type) and issubclass(leaf, GraphAPIError) and leaf is not GraphAPIError
]

# Every line of Meta's table as we know it; None as a subcode stands for "none given".
DOCUMENTED: list[tuple[int, int | None, type[GraphAPIError]]] = [
    (1, None, SendOutcomeUnknown),
    (1, 99, PermissionInDoubt),
    (1, 1357046, SendOutcomeUnknown),
    (2, None, SendOutcomeUnknown),
    (2, 1545133, GraphAPIUnavailable),
    (2, 2018344, PermissionMissing),
    (3, None, PermissionMissing),
    (4, None, Throttled),
    (17, None, Throttled),
    (32, None, Throttled),
    (4, 1349210, Throttled),
    (4, 1349211, Throttled),
    (4, 1349212, Throttled),
    (9, 2018352, BadContent),
    (10, None, PermissionMissing),
    (10, 2018278, MessagingWindowClosed),
    (10, 2534022, MessagingWindowClosed),
    (10, 2018065, MessagingWindowClosed),
    (10, 2018108, RecipientGone),
    (10, 1893063, AccountRestricted),
    (10, 2534077, PermissionMissing),
    (10, 2018336, RecipientGone),
    (27, None, PermissionMissing),
    (100, None, BadContent),
    (100, 33, ObjectMissing),
    (100, 2018001, RecipientGone),
    (100, 2018008, BadContent),
    (100, 2018047, BadContent),
    (100, 2018294, BadContent),
    (100, 2018109, BadContent),
    (100, 2018074, BadContent),
    (100, 2018014, BadContent),
    (100, 2534013, PermissionMissing),
    (100, 2534014, RecipientGone),
    (100, 2534015, BadContent),
    (100, 2534025, BadContent),
    (100, 2534029, AccountRestricted),
    (100, 2534037, ThreadOwnedByAnother),
    (10, 2534001, RecipientGone),
    (100, 2534001, RecipientGone),
    (102, None, TokenInvalid),
    (190, None, TokenInvalid),
    *[(190, subcode, TokenInvalid) for subcode in (458, 459, 460, 463, 464, 467, 492)],
    (200, None, PermissionMissing),
    (200, 1545041, RecipientGone),
    (551, 1545041, RecipientGone),
    (551, None, RecipientGone),
    (200, 2018028, PermissionMissing),
    (200, 2534041, PermissionMissing),
    (230, None, ProfileUnavailable),
    (341, None, Throttled),
    (368, None, AccountRestricted),
    (506, None, BadContent),
    (613, None, Throttled),
    (613, 2534040, Throttled),
    (613, 1996, Throttled),
    (613, 2018338, AccountRestricted),
    (1200, None, SendOutcomeUnknown),
    (-1, 2207001, SendOutcomeUnknown),
    (-2, 2207003, SendOutcomeUnknown),
    (-2, 2207020, SendOutcomeUnknown),
    (80001, None, Throttled),
    (80002, None, Throttled),
    (80006, None, Throttled),
    (2018218, None, ProfileUnavailable),
    (100, 2018218, ProfileUnavailable),
    (2018247, None, ProfileUnavailable),
    (9010, None, ProfileUnavailable),
    (2018300, None, ThreadOwnedByAnother),
    (10, 2018300, ThreadOwnedByAnother),
    (2018321, None, ThreadOwnedByAnother),
    (2022, None, AccountRestricted),
    (36103, None, AccountRestricted),
    (9000001, None, MessageUnreadable),
    (2018389, None, PermissionMissing),
    (424242, None, SendOutcomeUnknown),
    (424242, 7, SendOutcomeUnknown),
]


@pytest.mark.parametrize(("code", "subcode", "expected"), DOCUMENTED)
def test_numbers_decide_whatever_the_words(code: int, subcode: int | None, expected: type[GraphAPIError]) -> None:
    error: dict[str, object] = {"message": "(#190) expired token, outside window, blocked", "code": code}
    if subcode is not None:
        error["error_subcode"] = subcode

    assert type(error_from_body(400, {"error": error})) is expected


def test_every_line_of_the_table_is_documented() -> None:
    documented = {(code, subcode) for code, subcode, _ in DOCUMENTED}
    numbers = {number for pair in documented for number in pair}

    assert {pair for pair in TABLE if pair[0] is not None} <= documented
    assert {subcode for code, subcode in TABLE if code is None} <= numbers


@pytest.mark.parametrize(
    ("code", "expected"),
    [(10, PermissionMissing), (190, TokenInvalid), (100, BadContent), (2, SendOutcomeUnknown), (613, Throttled)],
)
@pytest.mark.parametrize("subcode", [0, 55555])
def test_an_unknown_or_empty_subcode_falls_back_to_the_code(
    code: int, subcode: int, expected: type[GraphAPIError]
) -> None:
    assert error_class(code, subcode) is expected


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "oops",
        {},
        {"error": None},
        {"error": "oops"},
        {"error": {}},
        {"error": {"code": None}},
        {"error": {"code": True}},
        {"error": {"code": "many"}},
        {"error": {"code": 10.5}},
    ],
)
@pytest.mark.parametrize("status", [200, 302, 400, 404, 500, 503])
def test_an_answer_without_a_code_proves_nothing(status: int, body: object) -> None:
    error = error_from_body(status, body)

    assert type(error) is SendOutcomeUnknown
    assert error.status == status


@pytest.mark.parametrize("code", ["190", 190.0])
def test_a_code_in_another_type_is_read(code: object) -> None:
    assert type(error_from_body(400, {"error": {"code": code}})) is TokenInvalid


def test_a_bare_429_is_throttling_and_keeps_the_wait() -> None:
    error = error_from_body(429, None, 30.0)

    assert type(error) is Throttled
    assert error.retry_after_seconds == 30.0


def test_an_error_shows_numbers_and_no_words_of_meta() -> None:
    body = {
        "error": {
            "message": "Токен EAAsecret недействителен",
            "code": 190,
            "error_subcode": 463,
            "fbtrace_id": "AbC",
            "error_user_msg": "private",
        }
    }

    error = error_from_body(401, body)

    assert str(error) == "refused, HTTP 401, code 190/463, fbtrace_id AbC"
    assert "EAAsecret" not in repr(error)


@pytest.mark.parametrize("leaf", LEAVES)
def test_each_leaf_is_of_one_kind_and_survives_the_way_between_processes(leaf: type[GraphAPIError]) -> None:
    error = leaf("refused", 400, 10, 2534022, "AbC", 12.5)

    copy = pickle.loads(pickle.dumps(error))

    assert sum(issubclass(leaf, kind) for kind in KINDS) == 1
    assert type(copy) is leaf
    assert vars(copy) == vars(error)
    assert str(copy) == str(error) == "refused, HTTP 400, code 10/2534022, fbtrace_id AbC"
    assert type(pickle.loads(pickle.dumps(leaf()))) is leaf


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GraphAPIUnavailable(), Failure.TRANSIENT),
        (Throttled(), Failure.THROTTLED),
        (SendOutcomeUnknown(), Failure.UNKNOWN),
        (TokenInvalid(), Failure.TOKEN),
        (PermissionMissing(), Failure.PERMISSION),
        (AccountRestricted(), Failure.RESTRICTED),
        (RecipientGone(), Failure.RECIPIENT_GONE),
        (MessagingWindowClosed(), Failure.WINDOW_CLOSED),
        (ThreadOwnedByAnother(), Failure.OWNED_BY_ANOTHER),
        (BadContent(), Failure.BAD_CONTENT),
        (ObjectMissing(), Failure.BAD_CONTENT),
        (Transient(), Failure.TRANSIENT),
        (NeedsOperator(), Failure.PERMISSION),
        (OutcomeUnknown(), Failure.UNKNOWN),
        (NightshiftError(), Failure.UNKNOWN),
    ],
)
def test_the_planner_is_told_the_failure(error: NightshiftError, expected: Failure) -> None:
    assert failure_of(error) is expected


def test_a_doubtful_permission_is_settled_once_and_then_believed() -> None:
    assert [failure_of(PermissionInDoubt(), attempt=n) for n in (1, 2, 3)] == [
        Failure.UNKNOWN,
        Failure.PERMISSION,
        Failure.PERMISSION,
    ]
