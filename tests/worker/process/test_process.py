"""What a worker loads and when: at its start nothing that it may never need, and the rest before it is needed."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bot.text.keyed_patterns import KeyedPattern
from worker.process.process import settle_down


def test_a_worker_without_sentry_and_telegram_loads_neither() -> None:
    program = "import sys, worker.tasks; print({'sentry_sdk', 'telegram'} & set(sys.modules))"
    settings = {"REDIS_URL": "redis://127.0.0.1:1/0", "APP_ENV": "test"}

    said = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **settings}, capture_output=True, check=True, text=True
    )

    assert said.stdout.strip() == "set()"


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.anyio
async def test_all_patterns_are_compiled_before_a_text_needs_them() -> None:
    late = KeyedPattern("never looked for")

    await settle_down()

    assert late.is_compiled
    assert all(pattern.is_compiled for pattern in KeyedPattern.made)


@pytest.mark.anyio
async def test_what_was_loaded_is_not_searched_for_garbage_again() -> None:
    assert gc.get_freeze_count() == 0

    await settle_down()

    assert gc.get_freeze_count() > 10_000
