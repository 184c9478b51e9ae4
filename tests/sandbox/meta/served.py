"""What the tests of the stand-in share."""

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
from runtime.settings import Account

CUSTOMER = "9001000000000123"
PAGE = "104400000000001"
SECRET = "invented-app-secret-01"
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id=PAGE, token=SecretStr("instagram-token"))
MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr("messenger-token"))


class Receiver:
    """A webhook endpoint that keeps what comes and answers as told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.signatures: list[str] = []
        self.statuses: list[int] = []
        self.come = threading.Condition()
        self.app = Starlette(routes=[Route("/webhooks/meta", self._serve, methods=["POST"])])

    async def _serve(self, request: Request) -> Response:
        body = await request.body()
        with self.come:
            self.bodies.append(body)
            self.signatures.append(request.headers["x-hub-signature-256"])
            status = self.statuses.pop(0) if self.statuses else 200
            self.come.notify_all()
        return Response(status_code=status)

    def wait(self, count: int) -> None:
        with self.come:
            assert self.come.wait_for(lambda: len(self.bodies) >= count, 10)

    def items(self) -> list[dict[str, Any]]:
        return [item for body in self.bodies for entry in json.loads(body)["entry"] for item in entry["messaging"]]


async def send(http: httpx.AsyncClient, account: Account, body: dict[str, Any]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {account.token.get_secret_value()}"}
    return await http.post(f"/v26.0/{PAGE}/messages", json=body, headers=headers)
