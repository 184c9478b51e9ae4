"""A day of turns, played against the model's stand-in and noted in the telemetry."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bot.conversation import PlanMeta
from runtime.embedded import EmbeddedValkey
from sandbox.model.answers import Answer
from sandbox.model.faults import FAULTS
from sandbox.patience import PATIENCE_SECONDS
from tests.rooms import ROOT
from tests.worker.agent.thinking import SEARCH, Bench, asked, costing, good
from worker.agent.agent import AgentResult
from worker.agent.telemetry import Telemetry

LOCKED = Answer(content="", reasoning="Thinking about parking. " * 5)


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
