"""A stand-in for Meta, and a server that records what it was sent."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.meta.server import MetaSandbox
from sandbox.server import SandboxServer
from tests.clients.graph.calls import CUSTOMER, FLAVOURS, Meta, Recorder, environment


@pytest.fixture(scope="module")
def served() -> Iterator[Meta]:
    sandbox = MetaSandbox(FLAVOURS)
    with SandboxServer(sandbox.app) as server:
        yield Meta(sandbox, environment(server.url))


@pytest.fixture
def meta(served: Meta) -> Iterator[Meta]:
    served.sandbox.reset()
    served.sandbox.accounts = list(FLAVOURS)
    yield served
    assert served.sandbox.faults_left() == 0


@pytest.fixture(scope="module")
def recording() -> Iterator[Recorder]:
    async def serve(request: Request) -> Response:
        record.requests.append((request.method, str(request.url), dict(request.headers), await request.body()))
        return record.answer

    record = Recorder([], environment(""), Response())
    with SandboxServer(Starlette(routes=[Route("/{path:path}", serve, methods=["GET", "POST"])])) as server:
        record.env = environment(f"{server.url}/graph", f"{server.url}/instagram/")
        yield record


@pytest.fixture
def recorder(recording: Recorder) -> Recorder:
    recording.requests.clear()
    recording.answer = JSONResponse({"recipient_id": CUSTOMER, "message_id": "m_1"})
    return recording
