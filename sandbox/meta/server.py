"""Meta as a real HTTP server: takes messages on both hosts' paths, refuses what Meta refuses, sends webhooks."""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from bot.incoming.events import Channel
from runtime.settings import Account, load_settings
from sandbox.meta import webhooks as meta_webhooks
from sandbox.meta.callers import Host, as_meta_knows, uses_instagram_login
from sandbox.meta.content import Content, ContentRefused, check_content, content_of
from sandbox.meta.control import Control
from sandbox.meta.errors import refusal, throttling_headers
from sandbox.meta.reads import is_of_a_conversation, read_conversations, read_node
from sandbox.meta.routing import THREAD_CALLS
from sandbox.meta.store import MetaStore
from sandbox.meta.webhooks import new_mid
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import serve

CALLS_KEPT = 1000  # of the Send API, as they came
Echo = Literal["none", "before", "after"]
_WINDOW_CLOSED = {Channel.INSTAGRAM: (10, 2534022, 403), Channel.MESSENGER: (10, 2018278, 403)}
_REACTIONS = ("react", "unreact")
_ACTIONS = ("typing_on", "typing_off", "mark_seen", *_REACTIONS)
MOST_REACTION_CHARS = 20  # the longest emoji are several joined ones


class MetaSandbox(Control):
    """`app` is to be served by `SandboxServer`; the methods script it and speak for customers and managers.

    With `webhook_url` and `app_secret`, all that is sent comes back as a signed echo, `before` or `after` the answer
    to the send, and is tried up to `webhook_tries` times.

    Every account may be called at the server's root; under /graph.facebook.com and /graph.instagram.com only those
    whose flavour it is, as at Meta's own hosts.
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
        super().__init__(
            [as_meta_knows(a) for a in accounts], MetaStore(clock), webhook_url=webhook_url, app_secret=app_secret
        )
        self.app_id = app_id
        self.echo = echo
        self.webhook_tries = webhook_tries
        self.no_echo_to: set[str] = set()
        self.usage_percent: int | None = None
        self.calls: deque[dict[str, Any]] = deque(maxlen=CALLS_KEPT)
        calls = [
            Route("/{version}/{owner}/messages", self._messages, methods=["POST"]),
            Route("/{version}/{owner}/conversations", self._conversations, methods=["GET"]),
            Route("/{version}/{owner}/thread_owner", self._thread_owner, methods=["GET"]),
            *(
                Route(f"/{{version}}/{{owner}}/{call}", partial(self._thread_call, call), methods=["POST"])
                for call in THREAD_CALLS
            ),
            Route("/{version}/me", self._about_me, methods=["GET"]),
            Route("/{version}/{node}", self._node, methods=["GET"]),
            Route("/{path:path}", self._unknown_path, methods=["GET", "POST", "DELETE"]),
        ]
        self.app = Starlette(
            routes=[
                Route("/_control", self._control, methods=["POST"]),
                Route("/_sent", self._sent, methods=["GET"]),
                *(Mount(f"/{host}", routes=calls) for host in Host),
                *calls,
            ]
        )

    @property
    def sent(self) -> list[dict[str, Any]]:
        """All that reached customers: to, text, mid, at (Unix seconds), account, channel, metadata.

        Where there was more: buttons (titles of quick replies), links (title and url of each), image, images, file...
        """
        return self.store.sent

    @property
    def actions(self) -> list[dict[str, Any]]:
        """Sender actions: to, action, at, account; message_id and reaction of a reaction."""
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

    def refuse_profile(self, customer_id: str, code: int, subcode: int | None = None) -> None:
        """No profile of this customer for us: 230 no consent, 9010 a reviewer of Meta's, 100/2018218 blocked..."""
        self.store.profile_refusals[customer_id] = (code, subcode)

    def set_usage(self, percent: int | None) -> None:
        """The usage headers of every answer from now on."""
        self.usage_percent = percent

    def wait_for_sent(self, count: int, timeout_seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
        return self.store.wait_for_sent(count, timeout_seconds)

    def reset(self) -> None:
        self.store.reset()
        self.clear_faults()
        self.reset_limits()
        self.reset_routing()
        self.wraps_me = True
        self.no_echo_to.clear()
        self.lost_webhooks.clear()
        self.usage_percent = None
        self.calls.clear()

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
        self.calls.append({"path": request.url.path, "account": account.id, "body": body})
        if isinstance(comment_id, str) and to in {None, account.id, account.page_id}:
            return refusal(100, 2534025)
        if not isinstance(to, str) or not to:
            return refusal(100, message="(#100) No recipient.id")
        if too_many := self.one_too_many(account, "sends"):
            return too_many
        if "sender_action" in body:
            return await self._action(request, account, to, body)
        fault = await self._fault("messages", to)
        if fault is not None and not fault.delivered:
            return await self._fail(request, account, fault)
        if barred := self._barred(account, to):
            return barred
        if refused := self._refused(account, to, body, to_comment=comment_id is not None):
            return refused
        if isinstance(comment_id, str):
            del self.store.comments[comment_id]  # one reply for each
        message = body["message"]
        mid, metadata = new_mid(account.channel), message.get("metadata")
        content = content_of(message, account.channel)
        self.store.record_sent(account, to, content.text, mid, metadata, content.beside)
        echo = self._echo_task(account, to, content, mid, metadata)
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
        try:
            check_content(message, account.channel)
        except ContentRefused as why:
            return refusal(100, why.subcode, message=f"(#100) {why.words}")
        if not to_comment and not self.store.window_open(account, to):
            code, subcode, status = _WINDOW_CLOSED[account.channel]
            return refusal(code, subcode, status)
        return None

    async def _action(self, request: Request, account: Account, to: str, body: Mapping[str, Any]) -> Response:
        if "message" in body:
            return refusal(100, 2018014)
        action = body["sender_action"]
        if action not in _ACTIONS:
            return refusal(100, message="(#100) Unknown sender_action")
        payload = body.get("payload", {}) if action in _REACTIONS else {}
        if action in _REACTIONS and not self._is_reaction(action, payload):
            return refusal(100, message="(#100) Invalid payload of a reaction")
        fault = await self._fault("actions", to)
        if fault is None or fault.delivered:
            self.store.record_action(account, to, action, payload)
        if fault is not None:
            return await self._fail(request, account, fault)
        return JSONResponse({"recipient_id": to}, headers=self._usage_headers(account))

    def _is_reaction(self, action: str, payload: Any) -> bool:
        """It names a message that is there, and what to put to it."""
        if not isinstance(payload, Mapping) or not isinstance(mid := payload.get("message_id"), str):
            return False
        reaction = payload.get("reaction", "")
        has_reaction = isinstance(reaction, str) and 0 < len(reaction) <= MOST_REACTION_CHARS
        return self.store.find_message(mid) is not None and has_reaction == (action == "react")

    async def _conversations(self, request: Request) -> Response:
        account = self._account_for(request, request.query_params.get("user_id"), request.query_params.get("platform"))
        if isinstance(account, Response):
            return account
        if too_many := self.one_too_many(account, "reads"):
            return too_many
        if fault := await self._fault("reads", request.query_params.get("user_id", "")):
            return await self._fail(request, account, fault)
        return read_conversations(self.store, account, request.query_params, self._usage_headers(account))

    async def _node(self, request: Request) -> Response:
        accounts = self._accounts_of_token(request)
        if not accounts:
            return refusal(190, status=400)
        node = request.path_params["node"]
        owner = is_of_a_conversation(self.store, accounts, node)
        if owner is not None and (too_many := self.one_too_many(owner, "reads")):
            return too_many
        if fault := await self._fault("reads", node):
            return await self._fail(request, accounts[0], fault)
        headers = self._usage_headers(owner or accounts[0])
        return read_node(self.store, accounts, node, request.query_params, headers)

    async def _about_me(self, request: Request) -> Response:
        accounts = self._accounts_of_token(request)
        if accounts and (fault := await self._fault("me", accounts[0].id)):
            return await self._fail(request, accounts[0], fault)
        return self._me(request)

    async def _unknown_path(self, request: Request) -> Response:
        return refusal(2500, message=f"Unknown path components: /{request.path_params['path']}")

    def _usage_headers(self, account: Account) -> dict[str, str]:
        version = {"instagram-api-version": "v26.0"} if uses_instagram_login(account) else {}
        if self.usage_percent is None:
            return version
        return version | throttling_headers(account, percent=self.usage_percent, minutes=0)

    def _echo_task(
        self, account: Account, to: str, content: Content, mid: str, metadata: str | None
    ) -> BackgroundTask | None:
        if self.echo == "none" or to in self.no_echo_to or not self.webhook_url or not self.app_secret:
            return None
        item = meta_webhooks.echo_item(
            account,
            to,
            at_ms=self._now_ms(),
            text=content.text,
            attachments=content.attached,
            mid=mid,
            app_id=self.app_id or None,
            metadata=metadata,
        )
        return BackgroundTask(self.deliver, item, tries=self.webhook_tries)


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
