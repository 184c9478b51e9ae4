"""The people of a test: a customer who writes and reads, and what became of their messages in the books."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from runtime.settings import Account
from sandbox.meta.webhooks import WebhookItem
from sandbox.patience import PATIENCE_SECONDS
from sandbox.stack import Stack
from store.keys import calls_key


class Customer:
    def __init__(self, stack: Stack, customer_id: str, *, channel: str = "instagram") -> None:
        self.id = customer_id
        self._stack = stack
        self.account: Account = stack.meta.account(channel)

    def item(self, text: str, **more: Any) -> WebhookItem:
        return self._stack.meta.text(self.id, text, account=self.account, **more)

    def writes(self, *texts: str) -> None:
        """One webhook for each text, as Meta sends them, as fast as we can: a burst comes within its quiet time."""

        async def post() -> list[int]:
            return [status for text in texts for status in await self._stack.meta.deliver(self.item(text))]

        assert set(asyncio.run(post())) == {200}

    def sends(self, *items: WebhookItem) -> None:
        statuses = asyncio.run(self._stack.meta.deliver(*items))
        assert set(statuses) == {200}

    @property
    def read(self) -> list[str]:
        """What arrived at this customer, in order."""
        return [message["text"] for message in self._stack.meta.sent if message["to"] == self.id]

    def waits_for(self, count: int = 1, seconds: float = PATIENCE_SECONDS) -> list[str]:
        self._stack.wait_for(lambda: len(self.read) >= count, f"{count} message(s) to the customer", seconds)
        return self.read


@contextmanager
def one_burst(stack: Stack) -> Iterator[None]:
    """What a customer writes inside is one burst, however long we take: nothing that is due is handed out meanwhile."""
    dispatchers = [process for alias, process in stack.running.items() if alias.startswith("dispatcher")]
    for process in dispatchers:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in dispatchers:
            process.send_signal(signal.SIGCONT)


def all_closed(stack: Stack, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
    """Wait until nothing is open; the ledger as it stands then."""

    def closed() -> dict[str, Any] | None:
        ledger = stack.ledger()
        return ledger if ledger["open"] == 0 else None

    ledger: dict[str, Any] = stack.wait_for(closed, "every message to have its outcome", seconds)
    assert ledger["balanced"]
    return ledger


def begin_anew(stack: Stack) -> Stack:
    """A shared stack for the next test: nothing of the last one is open any more, to count in this one's books, and no
    read of the last one keeps this one's back."""
    all_closed(stack)
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as store:
        store.delete(*(calls_key(account, "read") for account in stack.meta.accounts))
    stack.model.reset()
    stack.meta.reset()
    stack.meta.echo = "after"
    stack.telegram.messages.clear()
    return stack


def since(stack: Stack, before: dict[str, Any], seconds: float = PATIENCE_SECONDS) -> dict[str, int]:
    """What the ledger gained, once everything is closed."""
    after = all_closed(stack, seconds)
    names = ("received", "answered", "handed_over", "silenced", "undeliverable", "expired")
    return {name: after[name] - before[name] for name in names if after[name] != before[name]}
