import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runtime.findings import Finding, Level
from runtime.settings import Config, Settings
from sandbox.patience import PATIENCE_SECONDS
from tests.webhooks.support import RememberingStore, make_settings
from webhooks.app import create_app

pytestmark = pytest.mark.anyio


async def run_lifespan(app: Any, until: Callable[[], Awaitable[object]] | None = None) -> list[str]:
    """Start the application and stop it as a server does, once `until` has ended; what it answered."""
    questions = iter(["lifespan.startup", "lifespan.shutdown"])
    answers: list[str] = []

    async def receive() -> Any:
        question = next(questions)
        if question == "lifespan.shutdown" and until is not None:
            await until()
        return {"type": question}

    async def send(message: Any) -> None:
        answers.append(message["type"])

    await app({"type": "lifespan", "state": {}}, receive, send)
    return answers


async def test_the_store_is_closed_when_the_server_stops() -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    answers = await run_lifespan(create_app(make_settings(), RememberingStore(), close=close))

    assert answers == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert closed == [True]


async def test_a_start_says_what_is_missing(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    poor = make_settings(secrets="", verify_token="")
    bare = Settings.model_construct(
        env=poor.env, config=Config(), findings=(Finding("x", Level.WARNING, "a doubtful thing"),)
    )

    await run_lifespan(create_app(bare, RememberingStore()))

    logged = caplog.text + "".join(capsys.readouterr())
    for said in ("META_APP_SECRETS", "META_VERIFY_TOKEN", "[[accounts]]", "a doubtful thing"):
        assert said in logged


async def test_a_job_that_fails_is_begun_anew_and_takes_no_other_with_it(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []
    all_begun = asyncio.Event()

    async def broken() -> None:
        begun.append("broken")
        if begun.count("broken") == 3:
            all_begun.set()
        raise RuntimeError("a bug")

    async def steady() -> None:
        begun.append("steady")
        await asyncio.Event().wait()

    async def done() -> None:
        begun.append("done")

    app = create_app(make_settings(), RememberingStore(), background_jobs=(broken, steady, done), again_seconds=0.01)
    async with asyncio.timeout(PATIENCE_SECONDS):
        answers = await run_lifespan(app, all_begun.wait)

    assert answers == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert sorted(set(begun)) == ["broken", "done", "steady"]
    assert (begun.count("steady"), begun.count("done")) == (1, 1)
    assert "background_job_failed" in caplog.text + "".join(capsys.readouterr())
