"""Meta as a real HTTP server: takes messages on both hosts' paths, refuses what Meta refuses, sends webhooks."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.messages import Channel
from runtime.settings import Account, load_settings
from sandbox import meta_webhooks
from sandbox.meta_errors import refusal, throttling_headers
from sandbox.meta_faults import Call, Fault, Faults
from sandbox.meta_people import People
from sandbox.meta_reads import read_conversations, read_node
from sandbox.meta_store import MetaStore, limit_exceeded
from sandbox.meta_webhooks import WebhookItem, new_mid
from sandbox.server import serve
from sandbox.silence import CutConnection, hang

Echo = Literal["none", "before", "after"]
_WINDOW_CLOSED = {Channel.INSTAGRAM: (10, 2534022, 403), Channel.MESSENGER: (10, 2018278, 403)}
_ACTIONS = ("typing_on", "typing_off", "mark_seen")


class MetaSandbox(People, Faults):
    """`app` is to be served by `SandboxServer`; the methods script it and speak for customers and managers.

    With `webhook_url` and `app_secret`, all that is sent comes back as a signed echo, `before` or `after` the answer
    to the send, and is tried up to `webhook_tries` times.
    """

    def __init__(
        self,
        accounts: Sequence[Account],
        *,
        app_secret: str = "",
        app_id: str = "",
        webhook_url: str = "",
        echo: Echo = "after",
        webhook_tries: int = 3,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(list(accounts), MetaStore(clock), webhook_url=webhook_url, app_secret=app_secret)
        self.app_id = app_id
        self.echo = echo
        self.webhook_tries = webhook_tries
        self.no_echo_to: set[str] = set()
        self.usage_percent: int | None = None
        self.app = Starlette(
            routes=[
                Route("/_control", self._control, methods=["POST"]),
                Route("/_sent", self._sent, methods=["GET"]),
                Route("/{version}/{owner}/messages", self._messages, methods=["POST"]),
                Route("/{version}/{owner}/conversations", self._conversations, methods=["GET"]),
                Route("/{version}/{node}", self._node, methods=["GET"]),
                Route("/{path:path}", self._unknown_path, methods=["GET", "POST", "DELETE"]),
            ]
        )

    @property
    def sent(self) -> list[dict[str, Any]]:
        """All that reached customers: to, text, mid, at (Unix seconds), account, channel, metadata."""
        return self.store.sent

    @property
    def actions(self) -> list[dict[str, Any]]:
        """Sender actions: to, action, at, account."""
        return self.store.actions

    def customer_wrote(self, customer_id: str, at: float | None = None, *, channel: str | None = None) -> None:
        """Without a webhook: when the customer last wrote, Unix seconds (None: now). Opens or ages the window."""
        thread = self.store.thread(self.account(channel), customer_id)
        thread.wrote_at = self.store.clock() if at is None else at
        thread.closed = False

    def close_window(self, customer_id: str, *, channel: str | None = None) -> None:
        self.store.thread(self.account(channel), customer_id).closed = True

    def set_profile(self, customer_id: str, **fields: str) -> None:
        """name and username; first_name and last_name on Messenger."""
        self.store.profiles[customer_id] = fields

    def set_usage(self, percent: int | None) -> None:
        """The usage headers of every answer from now on."""
        self.usage_percent = percent

    def wait_for_sent(self, count: int, timeout_seconds: float = 10.0) -> list[dict[str, Any]]:
        return self.store.wait_for_sent(count, timeout_seconds)

    def reset(self) -> None:
        self.store.reset()
        self.clear_faults()
        self.no_echo_to.clear()
        self.lost_webhooks.clear()
        self.usage_percent = None

    # What is served.

    async def _messages(self, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except ValueError:
            return refusal(100, message="(#100) The body is not JSON")
        recipient = body.get("recipient") if isinstance(body, dict) else None
        to = recipient.get("id") if isinstance(recipient, dict) else None
        if isinstance(recipient, dict) and isinstance(recipient.get("user_ref"), str):
            to = f"user_ref:{recipient['user_ref']}"  # a visitor of the plug-in, as our receiver names them
        comment_id = recipient.get("comment_id") if isinstance(recipient, dict) else None
        if isinstance(comment_id, str):
            to = self.store.comments.get(comment_id)
        account = self._account_for(request, to)
        if isinstance(account, Response):
            return account
        if isinstance(comment_id, str) and to in {None, account.id, account.page_id}:
            return refusal(100, 2534025)
        if not isinstance(to, str) or not to:
            return refusal(100, message="(#100) No recipient.id")
        if "sender_action" in body:
            return await self._action(request, account, to, body)
        fault = await self._fault("messages", to)
        if fault is not None and not fault.delivered:
            return await self._fail(request, account, fault)
        if refused := self._refused(account, to, body, to_comment=comment_id is not None):
            return refused
        if isinstance(comment_id, str):
            del self.store.comments[comment_id]  # one reply for each
        message = body["message"]
        mid, text, metadata = new_mid(account.channel), message.get("text", ""), message.get("metadata")
        buttons = [reply["title"] for reply in message.get("quick_replies", ())]
        self.store.record_sent(account, to, text, mid, metadata, buttons)
        echo = self._echo_task(account, to, text, mid, metadata)
        if echo is not None and (self.echo == "before" or (fault is not None and fault.kind == "hang")):
            await echo()
            echo = None
        if fault is not None:
            response = await self._fail(request, account, fault)
        else:
            response = JSONResponse({"recipient_id": to, "message_id": mid}, headers=self._usage_headers(account))
        response.background = echo
        return response

    def _refused(self, account: Account, to: str, body: Mapping[str, Any], *, to_comment: bool) -> Response | None:
        message = body.get("message")
        if "tag" in body or body.get("messaging_type") not in {None, "RESPONSE", "UPDATE"}:
            return refusal(100, message="(#100) Message tags are not accepted")
        if to in {account.id, account.page_id}:
            return refusal(100, 2534014)
        if not isinstance(message, dict):
            return refusal(100, message="(#100) No message")
        text = message.get("text")
        if "attachment" not in message and "attachments" not in message:
            if not isinstance(text, str) or not text.strip():
                return refusal(100, message="(#100) param message must be non-empty")
            if limit_exceeded(account.channel, text):
                return refusal(100, message="(#100) Length of param message[text] is over the limit")
        if "quick_replies" in message and not _are_quick_replies(message["quick_replies"]):
            return refusal(100, message="(#100) Invalid quick_replies")
        if not to_comment and not self.store.window_open(account, to):
            code, subcode, status = _WINDOW_CLOSED[account.channel]
            return refusal(code, subcode, status)
        return None

    async def _action(self, request: Request, account: Account, to: str, body: Mapping[str, Any]) -> Response:
        if "message" in body:
            return refusal(100, 2018014)
        if body["sender_action"] not in _ACTIONS:
            return refusal(100, message="(#100) Unknown sender_action")
        fault = await self._fault("actions", to)
        if fault is None or fault.delivered:
            self.store.record_action(account, to, body["sender_action"])
        if fault is not None:
            return await self._fail(request, account, fault)
        return JSONResponse({"recipient_id": to}, headers=self._usage_headers(account))

    async def _conversations(self, request: Request) -> Response:
        account = self._account_for(request, request.query_params.get("user_id"), request.query_params.get("platform"))
        if isinstance(account, Response):
            return account
        if fault := await self._fault("reads", request.query_params.get("user_id", "")):
            return await self._fail(request, account, fault)
        return read_conversations(self.store, account, request.query_params, self._usage_headers(account))

    async def _node(self, request: Request) -> Response:
        accounts = self._accounts_of_token(request)
        if not accounts:
            return refusal(190, status=400)
        if fault := await self._fault("reads", request.path_params["node"]):
            return await self._fail(request, accounts[0], fault)
        return read_node(self.store, accounts, request.path_params["node"], request.query_params)

    async def _unknown_path(self, request: Request) -> Response:
        return refusal(2500, message=f"Unknown path components: /{request.path_params['path']}")

    async def _fault(self, on: Call, customer_id: str) -> Fault | None:
        """The next one scripted; a slow answer has been waited for and is none."""
        fault = self.take_fault(on, customer_id)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return None
        return fault

    async def _fail(self, request: Request, account: Account, fault: Fault) -> Response:
        match fault.kind:
            case "refuse":
                headers = {}
                if fault.minutes is not None:
                    headers = throttling_headers(account.id, account.channel, percent=100, minutes=fault.minutes)
                return refusal(fault.code, fault.subcode, fault.status, headers=headers)
            case "garbage":
                return Response("<html><body>Sorry, something went wrong.</body></html>", media_type="text/html")
            case "cut":
                return CutConnection()
            case "hang" | "slow":
                await hang(request, fault.seconds)
                return CutConnection()

    # Accounts and tokens.

    def _accounts_of_token(self, request: Request) -> list[Account]:
        """Only the header counts: a token in a URL ends in somebody's access log."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not token:
            return []
        return [account for account in self.accounts if account.token.get_secret_value() == token]

    def _account_for(
        self, request: Request, customer_id: str | None = None, platform: str | None = None
    ) -> Account | Response:
        """A Page token serves two channels: the recipient tells them apart, as it does at Meta."""
        mine = self._accounts_of_token(request)
        if not mine:
            return refusal(190, status=400)
        owner = request.path_params["owner"]
        fitting = [a for a in mine if owner in {"me", _path_owner(a)} and platform in {None, a.channel.value}]
        if not fitting:
            return refusal(100, 33)
        known = [a for a in fitting if customer_id and self.store.knows(a, customer_id)]
        return (known or fitting)[0]

    def _usage_headers(self, account: Account) -> dict[str, str]:
        if self.usage_percent is None:
            return {}
        return throttling_headers(account.id, account.channel, percent=self.usage_percent, minutes=0)

    def _echo_task(self, account: Account, to: str, text: str, mid: str, metadata: str | None) -> BackgroundTask | None:
        if self.echo == "none" or to in self.no_echo_to or not self.webhook_url or not self.app_secret:
            return None
        item = meta_webhooks.echo_item(
            account, to, at_ms=self._now_ms(), text=text, mid=mid, app_id=self.app_id or None, metadata=metadata
        )
        return BackgroundTask(self.deliver, item, tries=self.webhook_tries)

    # For other processes.

    async def _sent(self, _: Request) -> Response:
        return JSONResponse({"sent": self.sent, "actions": self.actions, "lost_webhooks": len(self.lost_webhooks)})

    async def _control(self, request: Request) -> Response:
        """`{"do": "<method>", ...its keyword arguments}`; text, attachment, comment... are delivered."""
        order = await request.json()
        name = order.pop("do", "")
        if name in {"text", "attachment", "postback", "comment", "human", "read"}:
            channel = order.pop("channel", None)
            item: WebhookItem = getattr(self, name)(account=self.account(channel), **order)
            return JSONResponse({"statuses": await self.deliver(item), "item": dict(item.item)})
        if name in _ORDERS:
            getattr(self, name)(**order)
            return JSONResponse({"done": name})
        return JSONResponse({"unknown": name}, status_code=400)


_ORDERS = {
    "refuse_next",
    "throttle_next",
    "lose_answer_next",
    "drop_before_next",
    "answer_garbage_next",
    "hang_next",
    "customer_wrote",
    "close_window",
    "set_profile",
    "set_usage",
    "reset",
}


def _are_quick_replies(replies: Any) -> bool:
    """One to 13, each with a title of up to 20 characters."""
    if not isinstance(replies, list) or not 1 <= len(replies) <= 13:
        return False
    return all(
        isinstance(reply, dict)
        and reply.get("content_type") == "text"
        and isinstance(title := reply.get("title"), str)
        and 0 < len(title) <= 20
        and isinstance(reply.get("payload"), str)
        for reply in replies
    )


def _path_owner(account: Account) -> str | None:
    if account.channel == Channel.MESSENGER:
        return account.page_id or account.id
    return account.id if account.login == "instagram" else account.page_id


def make_app() -> Starlette:
    """The stand-in for the accounts, secret and port of the environment, as another process runs it."""
    settings = load_settings(redis_required=False)
    secrets = settings.env.app_secrets
    return MetaSandbox(
        settings.config.accounts,
        app_secret=secrets[0] if secrets else "",
        app_id=settings.env.meta_app_id,
        webhook_url=f"http://127.0.0.1:{settings.env.port}/webhooks/meta",
    ).app


if __name__ == "__main__":
    serve(make_app, name="meta", port=9101)
