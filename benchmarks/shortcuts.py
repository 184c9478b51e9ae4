"""The same work without the house around it: what the way from POST to Graph call is measured against.

`inside PORT` answers in the receiver's own process. `push PORT` puts events on a Redis list; `poll` takes what is there
every 10 ms, as a consumer does that has to keep deadlines as well, and `wait` is woken by each. Same signature check,
same inbox script, same agent, same clients; but no lease, no plan, no ledger of the turn: a crash loses what was taken.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import orjson
import uvicorn
import uvloop
from starlette.types import Receive, Scope, Send

from benchmarks.product_loop import account_of, at_home, conversation, system_prompt
from bot.incoming.events import Channel, Contact, CustomerMessage
from runtime.clock import monotonic, now_ms
from runtime.settings import Settings, load_settings
from store.connection import connect
from store.incoming.inbox import open_inbox
from webhooks.accounts import Accounts
from webhooks.body import BodyMemory, read_body
from webhooks.guards.patience import Patience
from webhooks.payloads import parse_body
from webhooks.signature import is_signed, parse_signature
from webhooks.translate import translate
from worker.agent.agent import Budget

LIST = "bench:waiting"
POLL_SECONDS = 0.01
Answer = Callable[[Contact], Awaitable[None]]


@asynccontextmanager
async def answering(settings: Settings) -> AsyncIterator[Answer]:
    async with at_home(settings, own_tools=False) as house:
        system, seconds = system_prompt(house), settings.config.turn.budget_seconds

        async def answer(contact: Contact) -> None:
            talk, account = conversation(0, contact), account_of(house, contact)
            result = await house.agent(account).run(talk, system=system, budget=Budget(seconds, monotonic() + seconds))
            if result.reply is None:
                raise RuntimeError(result.rule)
            await house.graph(account).send_text(contact.customer_id, result.reply.text, metadata="bench")

        yield answer


class Receiver:
    """An ASGI application that stores as the product does, and then `hand_on`s each customer's message."""

    def __init__(self, settings: Settings, how: str) -> None:
        self._settings = settings
        self._how = how
        self._accounts = Accounts(settings.config.accounts)
        self._secrets = [secret.encode() for secret in settings.env.app_secrets]
        self._patience = Patience(10)
        self._memory = BodyMemory(1 << 26)
        self._stack = AsyncExitStack()
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        headers = dict(scope["headers"])
        body, held = await read_body(
            receive, headers, limit_bytes=1 << 23, patience=self._patience, memory=self._memory
        )
        self._memory.give_back(held)
        digest = parse_signature(headers.get(b"x-hub-signature-256"))
        if digest is None or not is_signed(body, digest, self._secrets):
            status = 403
        else:
            status = 200
            events = translate(parse_body(body), self._accounts, now_ms())
            await self._inbox.receive(events)
            for event in events:
                if isinstance(event, CustomerMessage):
                    await self._hand_on(event.contact)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def _hand_on(self, contact: Contact) -> None:
        if self._how == "push":
            words = orjson.dumps([contact.channel, contact.account_id, contact.customer_id]).decode()
            await self._client.rpush(LIST, words)
            return
        task = asyncio.create_task(_call(self._answer, contact))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._inbox = open_inbox(self._settings, role="bench")
        self._client = connect(self._settings.env.redis_url, max_connections=16, timeout_seconds=5)
        if self._how == "inside":
            self._answer = await self._stack.enter_async_context(answering(self._settings))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stack.aclose()
        await self._inbox.aclose()
        await self._client.aclose()
        await send({"type": "lifespan.shutdown.complete"})


async def _call(answer: Answer, contact: Contact) -> None:
    await answer(contact)


async def consume(settings: Settings, how: str) -> None:
    client = connect(settings.env.redis_url, max_connections=4, timeout_seconds=30)
    running: set[asyncio.Task[None]] = set()
    async with answering(settings) as answer:
        while True:
            if how == "wait":
                waiting = await client.blpop([LIST], timeout=5)
                taken = list(waiting[1:]) if waiting else []
            else:
                await asyncio.sleep(POLL_SECONDS)
                popped: list[bytes | str] = await client.lpop(LIST, 100) or []  # type: ignore[assignment]  # with a count
                taken = popped
            for words in taken:
                channel, account_id, customer_id = orjson.loads(words)
                task = asyncio.create_task(_call(answer, Contact(Channel(channel), account_id, customer_id)))
                running.add(task)
                task.add_done_callback(running.discard)


def main() -> None:
    settings = load_settings()
    if sys.argv[1] in ("poll", "wait"):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(consume(settings, sys.argv[1]))
        return
    uvicorn.run(
        Receiver(settings, sys.argv[1]),
        host="127.0.0.1",
        port=int(sys.argv[2]),
        loop="uvloop",
        http="httptools",
        lifespan="on",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=75,
    )


if __name__ == "__main__":
    main()
