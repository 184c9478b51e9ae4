"""What the tests of the traffic share."""

import json
import threading
from typing import Any

import httpx
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from runtime.settings import Account, Environment
from sandbox.meta.server import MetaSandbox

CUSTOMER, ANOTHER = "9001000000000123", "9001000000000124"
PAGE = "104400000000001"
APP_ID, OTHER_APP = "555000111222333", "777000111222333"
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id=PAGE, token=SecretStr("page-token"))
MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr("messenger-token"))
BOTH = [INSTAGRAM, MESSENGER]


class Receiver:
    """A webhook endpoint that keeps what comes and answers as told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.statuses: list[int] = []
        self._lock = threading.Lock()
        self.app = Starlette(routes=[Route("/webhooks/meta", self._serve, methods=["POST"])])

    async def _serve(self, request: Request) -> Response:
        body = await request.body()
        with self._lock:
            status = self.statuses.pop(0) if self.statuses else 200
            if status == 200:
                self.bodies.append(body)
        return Response(status_code=status)

    def entries(self) -> list[dict[str, Any]]:
        return [entry for body in self.bodies for entry in json.loads(body)["entry"]]

    def texts(self) -> list[str]:
        return [str(entry["messaging"][0]["message"]["text"]) for entry in self.entries()]


def graph_of(meta: MetaSandbox, http: httpx.AsyncClient, account: Account) -> GraphAPI:
    return GraphAPI(http, account=account, env=Environment(graph_api_url=meta.app.state.url))
