"""Is all that a server holds as the table of keys says?"""

from store.keys import conversation_key
from store.schema.key_table import Lifetime, Row, row_of
from store.scripts import Scripts


async def kept_as_the_table_says(scripts: Scripts) -> set[str]:
    """Look at every key of the server, each of the type and with the lifetime of its row; which rows there were.

    What a clock of the tests writes (`test:…`) is none of ours.
    """
    seen = set()
    for key in [str(key) async for key in scripts.client.scan_iter("*") if not str(key).startswith("test:")]:
        row = row_of(key)
        assert row is not None, key
        seen.add(row.key)
        kind, ttl = await scripts.command("TYPE", key), int(await scripts.command("PTTL", key))
        if kind == "none":  # it has run out since the keys were listed
            assert row.lifetime is Lifetime.EXPIRES, key
            continue
        assert kind == (row.kind or kind), key
        assert (ttl > 0) is await _expires(scripts, row, key), (key, ttl)
    return seen


async def _expires(scripts: Scripts, row: Row, key: str) -> bool:
    """Nothing that is open ever does."""
    if row.lifetime is not Lifetime.AT_REST:
        return row.lifetime is Lifetime.EXPIRES
    cid = key.split(":")[2]
    return await scripts.command("HGET", conversation_key(cid), "state") in ("rest", None)
