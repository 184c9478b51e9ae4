import pytest

from bot.messaging_window import MARGIN_MS, WARNING_MS, WINDOW_MS, MayWrite, WindowClosed, may_write

ACTED = 1_790_000_000_000
CLOSES = ACTED + WINDOW_MS - MARGIN_MS


@pytest.mark.parametrize(
    ("now_ms", "expected"),
    [
        (ACTED, MayWrite(CLOSES, ends_soon=False)),
        (CLOSES - WARNING_MS - 1, MayWrite(CLOSES, ends_soon=False)),
        (CLOSES - WARNING_MS, MayWrite(CLOSES, ends_soon=True)),
        (CLOSES - 1, MayWrite(CLOSES, ends_soon=True)),
        (CLOSES, WindowClosed(CLOSES)),
        (ACTED + WINDOW_MS, WindowClosed(CLOSES)),
    ],
)
def test_the_window_ends_ten_minutes_early_and_says_so_an_hour_before(
    now_ms: int, expected: MayWrite | WindowClosed
) -> None:
    assert may_write(last_action_at_ms=ACTED, now_ms=now_ms) == expected
