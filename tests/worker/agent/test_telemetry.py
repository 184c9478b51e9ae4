"""The telemetry of turns: what became of each, no words in it, counters, and what is erased."""

from dataclasses import replace

import pytest

from bot.conversation import PlanMeta
from runtime.clock import now_ms, utc_day
from sandbox.model.faults import FAULTS
from store.connection import Store, connect
from store.keys import GENERATIONS as WAITING
from store.scripts import Scripts
from store.telemetry import (
    erase_telemetry,
    model_metrics,
    read_records,
    read_thoughts,
)
from tests.worker.agent.a_day import LOCKED, play_a_day, store
from tests.worker.agent.thinking import MAIN, Bench, asked, good, prompts
from worker.agent.telemetry import Telemetry

pytestmark = pytest.mark.anyio


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
