from typing import Any

import pytest

from runtime.settings import Config, Settings
from tests.webhooks.support import RememberingStore, make_settings
from webhooks.app import create_app

pytestmark = pytest.mark.anyio


async def run_lifespan(app: Any) -> list[str]:
    """Start and stop the application as a server does; what it answered."""
    questions = iter(["lifespan.startup", "lifespan.shutdown"])
    answers: list[str] = []

    async def receive() -> Any:
        return {"type": next(questions)}

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
    bare = Settings.model_construct(env=poor.env, config=Config(), warnings=("a doubtful thing",))

    await run_lifespan(create_app(bare, RememberingStore()))

    logged = caplog.text + "".join(capsys.readouterr())
    for said in ("META_APP_SECRETS", "META_VERIFY_TOKEN", "[[accounts]]", "a doubtful thing"):
        assert said in logged
