"""A trouble of the field, and where the tests stand that hold one."""

from dataclasses import dataclass

from tests.payloads.kinds import Answered, End, HumanAtWork, Nothing, Silenced

TRANSLATE = "tests/webhooks/test_translate.py::"
ECHOES_OF_NO_HUMAN = "tests/store/turns/takeover/test_echoes_of_no_human.py::"
HUMAN_WORDS = "tests/store/turns/takeover/test_human_words.py::"
ROUTING = "tests/store/turns/takeover/test_routing.py::"
TURNS = "tests/store/turns/test_lease.py::"
SIGNATURE = "tests/webhooks/test_signature.py::"
OUTCOMES = "tests/store/incoming/test_payload_outcomes.py::"
MAIN_JOB = "tests/end_to_end/test_main_job.py::"
SENDS = "tests/end_to_end/test_sends.py::"
EVENTS = "tests/end_to_end/test_meta_events.py::"
SCALING = "tests/end_to_end/test_scaling.py::"
GRAPH = "tests/clients/graph/test_api.py::"
ERRORS = "tests/clients/graph/test_errors.py::"
BACK = "tests/end_to_end/test_reading_back.py::"
LATE = "tests/store/incoming/test_late_events.py::"
LOOK_UPS = "tests/clients/graph/test_look_ups.py::"
ITEM_KINDS = "tests/webhooks/test_item_kinds.py::"
ITEMS = "tests/webhooks/test_items.py::"
REFUSED_POSTS = "tests/webhooks/test_body.py::"
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
