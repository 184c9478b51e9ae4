"""What a house at work keeps in Redis, Celery's share included, is in the table of keys."""

import redis

from sandbox.stack import Stack
from store.schema.key_table import Lifetime, row_of
from tests.end_to_end.people import Customer, all_closed


def test_a_house_at_work_keeps_nothing_that_is_not_in_the_table(stack: Stack, customer: Customer) -> None:
    customer.writes("Добрый день!")
    customer.waits_for(1)
    all_closed(stack)

    strange: list[str] = []
    with redis.Redis.from_url(stack.valkey.url, decode_responses=True) as store:
        for key in store.scan_iter("*"):
            known, kind, ttl = row_of(key), store.type(key), store.pttl(key)
            if known is None:
                strange.append(f"{key}: not in the table")
            elif kind not in (known.kind or kind, "none"):
                strange.append(f"{key}: a {kind}")
            elif known.kind and known.lifetime is Lifetime.EXPIRES and ttl == -1:
                strange.append(f"{key}: does not expire")

    assert strange == []
