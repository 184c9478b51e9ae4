"""`nightshift report` over a day that was played."""

import json
from pathlib import Path

import pytest

from runtime.embedded import EmbeddedValkey
from store.connection import Store
from store.scripts import Scripts
from tests.worker.agent.a_day import nightshift, play_a_day
from tests.worker.agent.thinking import MAIN, Bench, prompts
from worker.agent.telemetry import Telemetry

pytestmark = pytest.mark.anyio


async def test_the_report_gives_the_numbers_that_were_played(
    bench: Bench, redis: Store, valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    records = await play_a_day(bench, Telemetry(Scripts(redis)))

    done = nightshift(valkey, tmp_path, "report", "--since", "1d", "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["complete"]
    assert (report["turns"], report["superseded_turns"]) == (5, 1)
    assert report["outcomes"] == {"answered": 4, "handed_over": 1}
    assert report["attempts"] == 12
    assert report["silent_attempts"] == 6
    assert report["failed_calls"] == 0
    assert report["turns_with_silence"] == 3
    assert report["caught_by_rule"] == {"reasoning_lock": 5, "true_empty": 1}
    assert report["rescued_by_rung"] == {"kick_1": 1, "main": 1}
    assert (report["stubs"], report["stubs_per_1000"]) == (1, 200.0)
    assert (report["partial"], report["tag_misses"]) == (1, 1)
    assert report["delivered_seconds"] == {"p50": 4.5, "p95": 4.5}
    assert report["uncovered_topics"] == [{"words": ["парковк", "ряд"], "turns": 3}]
    assert report["failed_turns"] == [records[4]]


async def test_the_report_is_readable_in_a_terminal(
    bench: Bench, redis: Store, valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    records = await play_a_day(bench, Telemetry(Scripts(redis)))

    done = nightshift(valkey, tmp_path, "report")

    assert done.returncode == 0, done.stderr
    for words in ("reasoning_lock", "kick_1", "1 (200.0 per 1000)", "парковк", MAIN, prompts().hash, records[4], "█"):
        assert words in done.stdout
    reasoning = nightshift(valkey, tmp_path, "report", "reasoning", records[1])
    assert reasoning.stdout.startswith("--- main, step 0: reasoning_lock\nThinking about parking.")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("report", "--since", "yesterday"), 2),
        (("report", "reasoning", "x"), 2),
        (("report", "reasoning", "1-1"), 1),
        (("report",), 0),
    ],
)
async def test_exit_codes(
    redis: Store, valkey: EmbeddedValkey, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    assert await redis.ping()

    assert nightshift(valkey, tmp_path, *arguments).returncode == code
