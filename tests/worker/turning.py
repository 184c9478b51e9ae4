"""Whole turns against a real store, with the stand-ins for Meta and the model: what a test of the turn works with."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from bot.incoming.events import Channel, Contact, CustomerMessage, Deletion, Edit, Event, MessageKind
from runtime.settings import Account
from sandbox.meta.server import MetaSandbox
from sandbox.model.faults import TAGS
from sandbox.model.server import ModelStandIn
from store.incoming.inbox import Inbox
from store.ledger import Ledger
from store.ledger_checks import verify
from store.schedule import Schedule
from store.scripts import Scripts
from store.turns.decisions import NotClaimed
from worker.services import Services
from worker.take_turn import take_turn
from worker.turn_end import TurnEnd

ACCOUNT = Account(channel="instagram", id="17841400000000042", page_id="104400000000001", token="an-invented-token")
OTHER_ACCOUNT = Account(channel="instagram", id="17841400000000077", page_id="104400000000002", token="another-token")
_customers = itertools.count(9_001_000_000_000_200)


class TurnBench:
    """One customer's conversation. `house` is the worker's own; `another` makes one that differs."""

    def __init__(
        self,
        house: Services,
        scripts: Scripts,
        meta: MetaSandbox,
        model: ModelStandIn,
        another: Callable[..., Services],
    ) -> None:
        self.house = house
        self.scripts = scripts
        self.meta = meta
        self.model = model
        self.another = another
        self.contact = Contact(Channel.INSTAGRAM, ACCOUNT.id, str(next(_customers)))
        self._sent_before = len(meta.sent)

    @property
    def cid(self) -> str:
        return self.contact.conversation_id

    def answers(self, *texts: str) -> None:
        """Each is the model's answer to one request."""
        self.model.script([f"{text}\n{TAGS}" for text in texts])

    async def receive(self, *events: Event) -> None:
        await Inbox(self.scripts, self.house.settings).receive(list(events))

    async def writes(self, mid: str, text: str = "Привет, сколько стоит кружка?") -> None:
        await self.receive(CustomerMessage(self.contact, MessageKind.MESSAGE, mid, self.house.now_ms(), text))

    async def edits(self, mid: str, text: str, number: int = 1) -> None:
        await self.receive(Edit(self.contact, mid, self.house.now_ms(), text, number))

    async def takes_back(self, mid: str) -> None:
        await self.receive(Deletion(self.contact, mid, self.house.now_ms()))

    async def end(self, house: Services | None = None) -> TurnEnd | NotClaimed:
        """Of the next turn, whatever it waits for."""
        await self.scripts.command("ZADD", "ns:due", "XX", 1, self.cid)
        await Schedule(self.scripts).pop_due(limit=10, quota=10)
        return await take_turn(house or self.house, self.cid)

    async def turn(self, house: Services | None = None) -> str:
        """As `end`, in the word that Flower shows."""
        return str(await self.end(house))

    async def vanishes(self) -> None:
        """Whoever holds the lease is gone, and it has run out."""
        await self.scripts.command("HSET", f"ns:c:{self.cid}", "lease_until", "1")

    async def turns(self, count: int, house: Services | None = None) -> list[str]:
        return [await self.turn(house) for _ in range(count)]

    @property
    def read(self) -> list[str]:
        """What the customer has read."""
        sent = self.meta.sent[self._sent_before :]
        return [str(message.get("text", "")) for message in sent if message.get("to") == self.contact.customer_id]

    async def books(self) -> dict[str, int]:
        sums = await Ledger(self.scripts).sums()
        assert sums.balanced
        return {name: n for name, n in sums.as_json().items() if n and name not in ("balanced", "oldest_open_seconds")}

    async def faults(self) -> list[str]:
        return [fault.what async for fault in verify(self.scripts)]

    async def alerts(self) -> list[dict[str, Any]]:
        return [asdict(waiting.alert) for waiting in await self.house.outbox.waiting()]

    async def state(self) -> dict[str, str]:
        return dict(await self.scripts.command("HGETALL", f"ns:c:{self.cid}"))

    async def plan(self) -> dict[str, str]:
        return dict(await self.scripts.command("HGETALL", f"ns:c:{self.cid}:plan"))

    async def history(self) -> list[tuple[str, str]]:
        rows: Sequence[str] = await self.scripts.command("LRANGE", f"ns:c:{self.cid}:history", 0, -1)
        return [(line["role"], line["text"]) for line in map(orjson.loads, rows)]

    async def is_kept_anywhere(self, words: str) -> list[str]:
        """The keys of Redis that hold these words in any form in which they may be written."""
        escaped = words.encode("ascii", "backslashreplace").decode()
        found = []
        for name in await self.scripts.command("KEYS", "*"):
            kind = str(await self.scripts.command("TYPE", name))
            read = {
                "string": ("GET", name),
                "hash": ("HGETALL", name),
                "list": ("LRANGE", name, 0, -1),
                "zset": ("ZRANGE", name, 0, -1),
                "set": ("SMEMBERS", name),
                "stream": ("XRANGE", name, "-", "+"),
            }[kind]
            held = str(await self.scripts.command(*read))
            if words in held or escaped in held:
                found.append(str(name))
        return found
