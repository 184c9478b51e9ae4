"""The outside hears that all is well, and only then."""

from dataclasses import dataclass, field

import pytest
from sentry_sdk.crons.consts import MonitorStatus
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitoring.check_in import CheckIn
from sandbox.server import SandboxServer
from tests.monitoring.watched import Clock, settings_with

pytestmark = pytest.mark.anyio


@dataclass
class Bell:
    """Somebody outside who is told, once a minute, that all is well."""

    paths: list[str] = field(default_factory=list)
    status: int = 200

    @property
    def app(self) -> Starlette:
        async def answer(request: Request) -> Response:
            self.paths.append(request.url.path)
            return Response(status_code=self.status)

        return Starlette(routes=[Route("/ping/{secret}", answer)])


async def test_the_outside_hears_once_a_minute_and_only_while_all_is_well() -> None:
    clock, bell = Clock(), Bell()
    with SandboxServer(bell.app) as server:
        settings = settings_with("http://127.0.0.1:9", heartbeat_url=f"{server.url}/ping/secret-word")
        check_in = CheckIn(settings, sentry_is_on=lambda: False, clock=clock)
        for clock.now, ok in ((0, True), (5, True), (59, True), (60, False), (120, True)):
            await check_in.maybe(ok=ok)
        await check_in.aclose()

    assert bell.paths == ["/ping/secret-word"] * 2


async def test_an_address_that_fails_is_said_once_and_without_its_secret(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    clock, bell = Clock(), Bell(status=500)
    with SandboxServer(bell.app) as server:
        settings = settings_with("http://127.0.0.1:9", heartbeat_url=f"{server.url}/ping/secret-word")
        check_in = CheckIn(settings, sentry_is_on=lambda: False, clock=clock)
        for clock.now in (0, 60):
            await check_in.maybe(ok=True)
        await check_in.aclose()

    logged = caplog.text + "".join(capsys.readouterr())
    assert logged.count("heartbeat_url_failed") == 1
    assert "secret-word" not in logged


async def test_sentry_hears_of_it_either_way() -> None:
    clock, heard = Clock(), []
    settings = settings_with("http://127.0.0.1:9")
    check_in = CheckIn(settings, capture=lambda **what: heard.append(what), sentry_is_on=lambda: True, clock=clock)
    for clock.now, ok in ((0, True), (30, True), (60, False)):
        await check_in.maybe(ok=ok)

    assert [(one["monitor_slug"], one["status"]) for one in heard] == [
        ("nightshift", MonitorStatus.OK),
        ("nightshift", MonitorStatus.ERROR),
    ]
