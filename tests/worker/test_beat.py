"""Beat sends what is periodic by its name, into the queue that no customer waits in, and loads nothing for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from runtime import queue
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Environment, Reconcile, Settings
from tests.rooms import ROOT
from tests.waiting import wait_until


def made_with(minutes: float) -> dict[str, dict[str, object]]:
    config = Config(reconcile=Reconcile(minutes=minutes))
    schedule: dict[str, dict[str, object]] = queue.make_celery(
        Settings(env=Environment(redis_url="redis://127.0.0.1:1/0"), config=config)
    ).conf.beat_schedule
    return schedule


def test_without_a_period_nothing_is_sent() -> None:
    assert made_with(0) == {}


def test_one_that_waits_for_a_whole_period_is_dropped() -> None:
    assert made_with(5) == {
        "reconcile": {"task": "reconcile", "schedule": 300, "options": {"queue": queue.OPS, "expires": 300}}
    }


@pytest.mark.slow
def test_a_running_beat_sends_the_task(tmp_path: Path) -> None:
    config = tmp_path / "nightshift.toml"
    config.write_text("[reconcile]\nminutes = 0.01\n", encoding="utf-8")
    with EmbeddedValkey(tmp_path / "valkey") as valkey, redis.Redis.from_url(valkey.url) as store:
        command = [sys.executable, "-m", "worker.beat", "--schedule", str(tmp_path / "schedule")]
        environment = {**os.environ, "REDIS_URL": valkey.url, "NIGHTSHIFT_CONFIG": str(config)}
        with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as beat:
            try:
                wait_until(lambda: store.llen("ns:celery:ops") >= 2, "two tasks")
                sent = store.lrange("ns:celery:ops", 0, -1)
            finally:
                beat.terminate()

    assert len(sent) >= 2
    assert all(b'"task": "reconcile"' in message for message in sent)
