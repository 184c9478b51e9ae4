"""What the catalogue points out about the configured models, and that it never stands in the way."""

from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.agent.ladder import default_ladder
from sandbox.server import SandboxServer
from tests.worker.agent.thinking import FALLBACK, MAIN, Bench
from worker.agent.model_catalogue import look_at_models, weaknesses

LADDER = default_ladder(main="a/main", fallback="b/other", max_kicks=2)
FINE = {"supported_parameters": ["tools", "tool_choice", "reasoning"], "reasoning": {"mandatory": False}}
MANDATORY = FINE | {"reasoning": {"mandatory": True}}


@pytest.mark.parametrize(
    ("main", "other", "words"),
    [
        (FINE, FINE, []),
        ({}, {}, []),
        (None, FINE, ["a/main: the catalogue does not know this model"]),
        (FINE, FINE | {"supported_parameters": ["reasoning"]}, ["b/other: it does not support tools,"]),
        (FINE | {"supported_parameters": ["tools", "reasoning"]}, FINE, ["a/main: it does not support tool_choice"]),
        (FINE, FINE | {"supported_parameters": ["tools", "tool_choice"]}, ["b/other: it does not support reasoning"]),
        (FINE, MANDATORY, ["b/other: its reasoning is mandatory, yet fallback would"]),
        (MANDATORY, FINE, ["a/main: its reasoning is mandatory, yet kick_2 would"]),
        (MANDATORY, MANDATORY, ["a/main: its", "b/other: its", "a/main cannot stop thinking, and neither can any"]),
    ],
)
def test_each_weakness_is_pointed_out(main: Any, other: Any, words: list[str]) -> None:
    found = weaknesses({name: m for name, m in (("a/main", main), ("b/other", other)) if m is not None}, LADDER)

    assert len(found) == len(words)
    for said, expected in zip(found, words, strict=True):
        assert said.startswith(expected)


@pytest.mark.anyio
async def test_the_default_models_have_no_weakness_in_the_sandbox(bench: Bench) -> None:
    ladder = default_ladder(main=MAIN, fallback=FALLBACK, max_kicks=2)

    assert await look_at_models(bench.http, base_url=bench.url, api_key="sk-invented", rungs=ladder) == []


@pytest.mark.anyio
async def test_a_fallback_that_must_think_is_pointed_out_over_http(bench: Bench) -> None:
    ladder = default_ladder(main=MAIN, fallback="sandbox/always-thinking", max_kicks=0)

    (warning,) = await look_at_models(bench.http, base_url=bench.url, api_key="sk-invented", rungs=ladder)

    assert "sandbox/always-thinking: its reasoning is mandatory" in warning


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"error": "no"}, status_code=500),
        PlainTextResponse("<html>", status_code=200),
        JSONResponse({"data": None}),
        JSONResponse(["a"]),
    ],
)
async def test_no_catalogue_is_a_warning(http: httpx.AsyncClient, answer: Response) -> None:
    async def models(_: Any) -> Response:
        return answer

    with SandboxServer(Starlette(routes=[Route("/models", models)]), 0) as server:
        (warning,) = await look_at_models(http, base_url=server.url, api_key="", rungs=LADDER)

    assert "did not answer" in warning


@pytest.mark.anyio
async def test_an_unreachable_catalogue_is_a_warning(http: httpx.AsyncClient) -> None:
    (warning,) = await look_at_models(http, base_url="http://127.0.0.1:1", api_key="", rungs=LADDER)

    assert "did not answer" in warning
