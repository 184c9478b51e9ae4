"""The way from one version of what is kept in Redis to the next: numbered steps, in order.

A new step goes to the end of `MIGRATIONS`, takes the next number and stays for good. Any number of processes may start
at once, each of them may die at any moment, and processes of the version before may run on beside them for a while. So
each step

- can be done twice, or by two at once, and each write of it leaves the store whole;
- leaves what a running process of the version before needs, or takes what that one writes in its old form (`again`);
- finds what it changes without looking through all keys: customers wait meanwhile.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bot.limits import DAY_MS
from store.connection import Store
from store.keys import ACCOUNTS, PARKED_CONVERSATIONS_BEFORE_2, parked_conversations_key
from store.keys import parked_conversations_key_before_2 as old_key


@dataclass(frozen=True, slots=True)
class Migration:
    """`number` is the schema it leads to. `run` gets the accounts ("channel id") of this process, raises redis-py's own
    errors, and is run `again` every minute: processes of the version before may still write the old form."""

    number: int
    what: str
    run: Callable[[Store, Iterable[str]], Awaitable[None]]
    again: bool = False


async def _rename_parked_conversations(client: Store, accounts: Iterable[str]) -> None:
    """Into the set of the new name goes what the old one holds. A conversation that a worker of the version before
    parks in between comes along at the next time; its own deadline stands in the schedule all the while."""
    known = {*accounts, *(str(account) for account in await client.zrange(ACCOUNTS, 0, -1))}
    for account in sorted(known):
        if not await client.exists(old_key(account)):
            continue
        new = parked_conversations_key(account)
        async with client.pipeline(transaction=True) as pipeline:
            pipeline.sunionstore(new, [new, old_key(account)])
            pipeline.pexpire(new, DAY_MS)
            pipeline.delete(old_key(account))
            await pipeline.execute()


MIGRATIONS = (
    Migration(2, f"{PARKED_CONVERSATIONS_BEFORE_2} has a name of its own", _rename_parked_conversations, again=True),
)
