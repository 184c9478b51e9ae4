"""What Redis says while the rehearsal runs and after it: the sums, the steps of every message, what was left behind."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from redis.asyncio import Redis

from store.connection import StoreUnavailable, connect
from store.keys import ALL_PARKED, DUE, WAKE, conversation_key
from store.ledger import Ledger, Step, Sums
from store.outboxes.alerts import AlertOutbox
from store.scripts import Scripts

SAMPLE_SECONDS = 1.0
MEND_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Ledger, schedule and alerts at one moment; `settled` when nothing is open, due, or waiting to be told."""

    sums: Sums
    due: int
    alerts_waiting: int

    @property
    def settled(self) -> bool:
        return not (self.sums.open or self.due or self.alerts_waiting)


class Observer:
    """`unbalanced` keeps every look at which the sums did not add up; `mended` counts parked accounts set free."""

    def __init__(self, redis_url: str) -> None:
        self.looks = 0
        self.unbalanced: list[Sums] = []
        self.mended = 0
        self.latest: Snapshot | None = None
        self._client: Redis = connect(
            redis_url, max_connections=2, timeout_seconds=2, client_name="nightshift-rehearsal"
        )
        self._scripts = Scripts(self._client)

    async def watch(self) -> None:
        """For ever: look, and do what an operator does about a parked account. An outage of Redis is waited out."""
        parked_since = 0.0
        while True:
            try:
                await self.look()
                parked = await self._parked()
                now = asyncio.get_running_loop().time()
                parked_since = (parked_since or now) if parked else 0.0
                if parked and now - parked_since >= MEND_SECONDS:
                    await self._mend(parked)
                    parked_since = 0.0
            except StoreUnavailable:
                self.latest = None
            await asyncio.sleep(SAMPLE_SECONDS)

    async def look(self) -> Snapshot:
        sums = await Ledger(self._scripts).sums()
        self.looks += 1
        if not sums.balanced:
            self.unbalanced.append(sums)
        alerts = await AlertOutbox(self._scripts).waiting()
        undelivered = sum(not alert.is_delivered for alert in alerts)
        self.latest = Snapshot(sums, int(await self._scripts.command("ZCARD", DUE)), undelivered)
        return self.latest

    async def steps_of(self, conversations: Iterable[str]) -> dict[str, list[Step]]:
        """All steps of these conversations in order, by conversation."""
        found: dict[str, list[Step]] = {conversation: [] for conversation in conversations}
        async for step in Ledger(self._scripts).steps():
            if step.conversation_id in found:
                found[step.conversation_id].append(step)
        return found

    async def leftovers(self, conversations: Iterable[str]) -> dict[str, str]:
        """What a conversation at rest must not have, by conversation."""
        found: dict[str, str] = {}
        for conversation in conversations:
            key = partial(conversation_key, conversation)
            state = await self._scripts.command("HGET", key(), "state")
            waiting = await self._scripts.command("LLEN", key("inbox"))
            plan = await self._scripts.command("EXISTS", key("plan"))
            due = await self._scripts.command("ZSCORE", DUE, conversation)
            if state not in (None, "rest") or waiting or plan or due is not None:
                found[conversation] = f"state {state}, {waiting} in the inbox, plan {'kept' if plan else 'gone'}"
        return found

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _parked(self) -> list[str]:
        return list(await self._scripts.command("KEYS", ALL_PARKED))

    async def _mend(self, parked: list[str]) -> None:
        """The account's trouble is over. Its conversations would come back in minutes: the rehearsal does not wait."""
        await self._scripts.command("DEL", *parked)
        self.mended += len(parked)
        for conversation in await self._scripts.command("ZRANGE", DUE, 0, -1):
            state, reason = await self._scripts.command("HMGET", conversation_key(conversation), "state", "hold_reason")
            if state == "held" and reason in ("parked", "backoff"):
                await self._scripts.command("ZADD", DUE, "XX", 0, conversation)
        await self._scripts.command("RPUSH", WAKE, "1")
