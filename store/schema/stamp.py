"""Of which version is what this Redis holds? Stamped when it is empty, brought up when it is older, left when newer."""

from collections.abc import Iterable, Sequence

from redis.asyncio.client import Pipeline

from runtime.findings import Finding, Level
from runtime.logging import get_logger
from store.connection import Store
from store.keys import SCHEMA
from store.schema.migrations import MIGRATIONS, Migration

log = get_logger(__name__)


async def bring_up(
    client: Store, accounts: Iterable[str], *, name: str = "redis", migrations: Sequence[Migration] = MIGRATIONS
) -> list[Finding]:
    """Run the steps that are missing, and stamp what they led to; an error, and nothing done, for a newer schema.

    `accounts` are this process's ("channel id"). An empty store has nothing to bring up: the steps find nothing there.
    Raises redis-py's own errors; what was begun is done again at the next try.
    """
    newest, known = migrations[-1].number, tuple(accounts)
    stamp = await client.get(SCHEMA)
    if stamp is not None and not str(stamp).isdecimal():
        what = f"{SCHEMA} is no number: what is kept there was not stamped by Nightshift"
        return [Finding(f"{name}.schema", Level.ERROR, what, "name another database, or restore this one")]
    before = int(stamp or 0)
    if before > newest:
        what = f"what is kept there is of schema {before}, and this version of Nightshift knows {newest} at most"
        fix = "start the newer version again, or restore a backup from before the update"
        return [Finding(f"{name}.schema", Level.ERROR, what, fix)]
    for migration in migrations:
        if migration.again or migration.number > before:
            await migration.run(client, known)
    if before < newest:
        await _stamp(client, newest)
        log.info("schema_stamped", before=before, now=newest)
    return []


async def _stamp(client: Store, number: int) -> None:
    """A process of a newer version may have stamped a higher one meanwhile: it stands."""

    async def unless_higher(pipeline: Pipeline) -> None:
        stands = int(await pipeline.get(SCHEMA) or 0)
        pipeline.multi()  # type: ignore[no-untyped-call]
        if stands < number:
            pipeline.set(SCHEMA, number)

    await client.transaction(unless_higher, SCHEMA)
