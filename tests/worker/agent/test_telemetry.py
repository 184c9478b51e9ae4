"""A scripted day: what was played is what the records, the counters and the report say."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.conversation import PlanMeta
from runtime.clock import now_ms, utc_day
from runtime.embedded import EmbeddedValkey
from sandbox.model.answers import Answer
from sandbox.model.faults import FAULTS
from sandbox.patience import PATIENCE_SECONDS
from store.connection import Store, connect
from store.keys import GENERATIONS as WAITING
from store.scripts import Scripts
from store.telemetry import (
    erase_telemetry,
    model_metrics,
    read_generations,
    read_records,
    read_thoughts,
)
from tests.rooms import ROOT
from tests.worker.agent.test_agent import SEARCH, costing
from tests.worker.agent.thinking import MAIN, Bench, asked, good, prompts
from worker.agent.agent import AgentResult
from worker.agent.generations import Generations, ask_later
from worker.agent.telemetry import Telemetry

pytestmark = pytest.mark.anyio

LOCKED = Answer(content="", reasoning="Thinking about parking. " * 5)


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
async def redis(valkey: EmbeddedValkey) -> AsyncIterator[Store]:
    client: Store = connect(valkey.url, max_connections=4, timeout_seconds=PATIENCE_SECONDS)
    await client.flushall()
    yield client
    await client.aclose()


async def store(telemetry: Telemetry, result: AgentResult, text: str = "А парковка рядом есть?") -> str:
    meta = PlanMeta("answered" if result.reply else "handed_over", rule=result.rule)
    return await telemetry.store(asked(text), meta, result, customer_text=text, seconds=1.5)


async def play_a_day(bench: Bench, telemetry: Telemetry) -> list[str]:
    """Six turns: well, kicked, repeated, partial, given up, and one that newer messages made useless."""
    records = []
    scripts: list[tuple[list[Any], Any, dict[str, Any]]] = [
        ([], good(), {}),
        ([costing(0.02, LOCKED)], costing(0.01, good()), {}),
        ([FAULTS["true_empty"]], good(), {}),
        ([SEARCH], Answer(content="Нашлась кружка, но цену уточнит коллега."), {"max_steps": 2}),
        ([], FAULTS["reasoning_lock"], {}),
        ([], good(), {}),
    ]
    for script, for_good, settings in scripts:
        bench.model.reset()
        bench.model.script(script)
        bench.model.play_for_good(for_good)
        records.append(await store(telemetry, await bench.run(**settings)))
    await telemetry.delivered(records[0], asked(), at_ms=5_500)
    await telemetry.superseded(records[5], asked())
    return records


async def test_a_record_says_what_became_of_the_turn(bench: Bench, redis: Store) -> None:
    telemetry, scripts = Telemetry(Scripts(redis)), Scripts(redis)
    records = await play_a_day(bench, telemetry)

    found = await read_records(scripts, since_ms=0)

    assert found.complete
    assert [turn.id for turn in found.turns] == records
    well, kicked, repeated, partial, failed, useless = found.turns
    assert well.delivered_seconds == 4.5
    assert useless.superseded
    assert kicked.record["rescued_by"] == "kick_1"
    assert repeated.record["rescued_by"] == "main"
    assert partial.record["partial"]
    assert partial.record["tags_missing"] == ["VERDICT", "TASK", "STAGE"]
    assert failed.record["outcome"] == "handed_over"
    assert failed.record["rule"] == "reasoning_lock"
    assert well.record["waiting_seconds"] == 2.0
    assert well.record["stage"] == "CONSULT"
    assert well.record["keywords"] == ["парковк", "ряд"]
    assert partial.record["keywords"] == []
    assert failed.record["keywords"] == []


async def test_no_words_of_anybody_are_in_the_records(bench: Bench, redis: Store) -> None:
    await play_a_day(bench, Telemetry(Scripts(redis)))

    everything = str(await redis.xrange("ns:telemetry"))
    assert "рядом" not in everything
    assert "Нашлась" not in everything
    assert "Thinking about" not in everything


async def test_the_reasoning_of_failures_is_kept_for_a_week_and_no_others(bench: Bench, redis: Store) -> None:
    scripts = Scripts(redis)
    records = await play_a_day(bench, Telemetry(scripts))

    kicked = await read_thoughts(scripts, records[1])
    assert kicked == [
        {"rung": "main", "step": 0, "rule": "reasoning_lock", "text": LOCKED.reasoning},
    ]
    assert await read_thoughts(scripts, records[0]) is None
    assert await read_thoughts(scripts, "1-1") is None
    ttl = await redis.ttl(f"ns:c:c0ffee:thoughts:{records[1]}")
    assert 6 * 86_400 < ttl <= 7 * 86_400


async def test_the_counters_of_the_day_and_for_prometheus(bench: Bench, redis: Store) -> None:
    await play_a_day(bench, Telemetry(Scripts(redis)))

    day = await redis.hgetall(f"ns:tel:{utc_day(now_ms())}")
    assert day["turns|answered"] == "5"
    assert day["turns|handed_over"] == "1"
    assert day["partial"] == "1"
    assert day["rung|kick_1|rescued"] == "1"
    assert day["attempt|retry_required|reasoning_lock|main"] == "2"
    assert day[f"prompt|{prompts().hash}|tool_step"] == "1"
    assert int(day[f"model|{MAIN}|micro_usd"]) >= 30_000
    counts = (await model_metrics(Scripts(redis)))["nightshift_model_attempts_total"]
    labels = (("verdict", "retry_required"), ("rule", "reasoning_lock"), ("rung", "fallback"))
    assert counts[labels] == 1
    assert sum(counts.values()) == 1 + 2 + 2 + 2 + 4 + 1


async def test_an_outage_loses_a_figure_and_nothing_else(bench: Bench) -> None:
    client = connect("redis://127.0.0.1:1/0", max_connections=1, timeout_seconds=1)
    telemetry = Telemetry(Scripts(client))
    bench.model.play_for_good(good())

    record = await store(telemetry, await bench.run())
    await telemetry.delivered(record, asked(), at_ms=5_000)
    await client.aclose()

    assert record == ""


async def test_a_trimmed_stream_says_so(bench: Bench, redis: Store) -> None:
    scripts = Scripts(redis)
    await play_a_day(bench, Telemetry(scripts))
    await redis.xtrim("ns:telemetry", maxlen=3, approximate=False)

    found = await read_records(scripts, since_ms=0)

    assert not found.complete
    assert found.from_ms > 0
    assert (await read_records(scripts, since_ms=found.from_ms + 1)).complete


def nightshift(valkey: EmbeddedValkey, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        "PATH": os.environ["PATH"],
        "REDIS_URL": valkey.url,
        "NIGHTSHIFT_CONFIG": str(ROOT / "nightshift.toml"),
        "COLUMNS": "160",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "cli.main", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


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


async def test_a_record_of_a_failed_call_keeps_its_fault(bench: Bench, redis: Store) -> None:
    bench.model.script([FAULTS["500"]])
    bench.model.play_for_good(good())
    scripts = Scripts(redis)

    await store(Telemetry(scripts), await bench.run())

    (turn,) = (await read_records(scripts, since_ms=0)).turns
    failed, answered = turn.attempts
    assert (failed["verdict"], failed["rule"], failed["status"]) == ("call_failed", "overloaded", 500)
    assert answered["provider"] == "Sandbox"
    assert answered["first_byte_seconds"] > 0


async def test_the_providers_own_record_of_a_stub_is_attached_later(
    bench: Bench, redis: Store, valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    scripts = Scripts(redis)
    bench.model.play_for_good(FAULTS["reasoning_lock"])
    record = await store(Telemetry(scripts), await bench.run())
    generations = Generations(scripts, bench.http, base_url=bench.url, api_key="sk-invented")
    assert await generations.fetch_due() == 0, "the record appears with a delay"
    await make_due(redis)

    assert await generations.fetch_due() == 4
    kept = await read_generations(scripts, record)
    assert [g["id"] for g in kept] == [f"gen-sandbox-00000{n}" for n in range(1, 5)]
    assert kept[0]["provider_name"] == "Sandbox"
    shown = nightshift(valkey, tmp_path, "report", "reasoning", record)
    assert shown.stdout.count("the provider's own record") == 4


async def test_a_generation_that_nobody_knows_is_asked_for_three_times(bench: Bench, redis: Store) -> None:
    scripts = Scripts(redis)
    await ask_later(scripts, "c0ffee", "1-1", ["gen-unknown", "with blanks"])
    generations = Generations(scripts, bench.http, base_url=bench.url, api_key="sk-invented")

    for left in (1, 1, 0):
        await make_due(redis)
        assert await generations.fetch_due() == 0
        assert await redis.zcard(WAITING) == left


async def test_a_good_turn_asks_for_no_generation(bench: Bench, redis: Store) -> None:
    bench.model.play_for_good(good())

    await store(Telemetry(Scripts(redis)), await bench.run())

    assert await redis.zcard(WAITING) == 0


async def make_due(redis: Store) -> None:
    for member in await Scripts(redis).command("ZRANGE", WAITING, 0, -1):
        await Scripts(redis).command("ZADD", WAITING, 0, member)


async def test_erasing_a_conversation_leaves_nothing_of_it_and_everything_of_others(bench: Bench, redis: Store) -> None:
    scripts = Scripts(redis)
    await play_a_day(bench, Telemetry(scripts))
    bench.model.reset()
    bench.model.play_for_good(good())
    other = replace(asked(), id="0ther")
    meta = PlanMeta("answered")
    kept = await Telemetry(scripts).store(other, meta, await bench.run(other), customer_text="", seconds=1)

    assert await erase_telemetry(scripts, "c0ffee") == 8
    found = await read_records(scripts, since_ms=0)
    assert [turn.id for turn in found.turns] == [kept]
    assert found.complete
    assert not [key async for key in redis.scan_iter("*c0ffee*")]
    assert await redis.zcard(WAITING) == 0
