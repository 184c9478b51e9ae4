"""`python -m benchmarks.programs.floor raw|starlette PORT`: the receiver's own stack, answering 200 to all."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


async def raw(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"14")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"EVENT_RECEIVED"})


async def _yes(request: Request) -> PlainTextResponse:
    await request.body()
    return PlainTextResponse("EVENT_RECEIVED")


starlette = Starlette(routes=[Route("/webhooks/meta", _yes, methods=["POST"])])


def main() -> None:
    app, port = sys.argv[1:3]
    apps: dict[str, ASGIApp] = {"raw": raw, "starlette": starlette}
    uvicorn.run(
        apps[app],
        host="127.0.0.1",
        port=int(port),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=75,
    )


if __name__ == "__main__":
    main()
