"""Do the three places that know of an open message agree: its conversation's inbox, `ns:open` and the schedule?"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from redis.exceptions import RedisError

from store.connection import store_error
from store.keys import ALL_INBOXES, OPEN, conversation_of
from store.scripts import Scripts

_BATCH = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """`what`: "not_in_inbox" (no turn will ever see it), "not_open" (answered, but never counted), "not_due"."""

    conversation_id: str
    key: str
    what: str


async def verify(scripts: Scripts) -> AsyncIterator[Fault]:
    """Reads in small batches, each checked at one moment, so a running system neither waits nor looks wrong."""
    client = scripts.client
    batch: list[str] = []
    seen: set[str] = set()
    try:
        async for member, _ in client.zscan_iter(OPEN, count=_BATCH):
            batch.append(str(member))
            cid = str(member).split(" ")[0]
            if cid not in seen:
                seen.add(cid)
                batch.append(cid)
            if len(batch) >= _BATCH:
                for fault in await _check(scripts, batch):
                    yield fault
                batch = []
        # An inbox whose messages are all missing from `ns:open` is found by its own key only.
        async for name in client.scan_iter(match=ALL_INBOXES, count=1000):
            cid = conversation_of(str(name))
            if cid not in seen:
                seen.add(cid)
                batch.append(cid)
            if len(batch) >= _BATCH:
                for fault in await _check(scripts, batch):
                    yield fault
                batch = []
    except (RedisError, OSError) as exc:
        raise store_error(exc) from exc
    for fault in await _check(scripts, batch):
        yield fault


async def _check(scripts: Scripts, members: list[str]) -> list[Fault]:
    flat = await scripts.run("verify", *members) if members else []
    return [Fault(*flat[i : i + 3]) for i in range(0, len(flat), 3)]
