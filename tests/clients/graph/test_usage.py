import pytest

from clients.graph.usage import read_retry_after_seconds, read_usage_percent

BUSINESS = (
    '{"104400000000001":[{"type":"messenger","call_count":100,"total_cputime":25,"total_time":26,'
    '"estimated_time_to_regain_access":19},{"type":"pages","call_count":3,"estimated_time_to_regain_access":0}]}'
)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"x-app-usage": '{"call_count":28,"total_time":25,"total_cputime":25}'}, 28.0),
        ({"x-app-usage": '{"call_volume":0,"cpu_time":0}'}, 0.0),
        ({"x-business-use-case-usage": BUSINESS}, 100.0),
        ({"x-app-usage": '{"call_count":28}', "x-business-use-case-usage": BUSINESS}, 100.0),
        ({"x-app-usage": "not json"}, None),
        ({"x-app-usage": "[1, true]"}, None),
        ({"x-app-usage": '{"call_count":true}'}, None),
        ({"x-business-use-case-usage": '{"1":[{"estimated_time_to_regain_access":500}]}'}, None),
    ],
)
def test_the_fullest_allowance_counts(headers: dict[str, str], expected: float | None) -> None:
    assert read_usage_percent(headers) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"x-business-use-case-usage": BUSINESS}, 19 * 60.0),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7", "x-business-use-case-usage": BUSINESS}, 19 * 60.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:00 GMT"}, None),
        ({"retry-after": "-5"}, None),
        ({"x-business-use-case-usage": '{"1":[{"estimated_time_to_regain_access":0}]}'}, None),
    ],
)
def test_the_longest_wait_counts_and_meta_gives_minutes(headers: dict[str, str], expected: float | None) -> None:
    assert read_retry_after_seconds(headers) == expected
