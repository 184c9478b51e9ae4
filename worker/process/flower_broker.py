"""How Flower reads the lengths of Celery's queues: through our own client, which knows every form of an address.

Flower reads the broker's address a third way (no user on a socket, one sentinel of several, TLS only by another
setting), and Celery's configuration holds no login that it could use.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from flower.views import BaseHandler

from runtime.addresses.redis_url import is_redis_url
from runtime.settings import Settings
from store.connection import connect


class QueueLengths:
    """What Flower calls a broker."""

    def __init__(self, settings: Settings, prefix: str) -> None:
        self._url = settings.env.broker_url
        self._prefix = prefix

    async def queues(self, names: Iterable[str]) -> list[Mapping[str, Any]]:
        """Raises redis-py's errors, which Flower logs."""
        wanted = list(names)
        client = connect(self._url, max_connections=1, timeout_seconds=2, client_name="nightshift-flower")
        try:
            async with client.pipeline(transaction=False) as pipeline:
                for name in wanted:
                    pipeline.llen(self._prefix + name)
                lengths = await pipeline.execute()
        finally:
            await client.aclose()
        return [{"name": name, "messages": length} for name, length in zip(wanted, lengths, strict=True)]


def read_queues_by_our_client(settings: Settings, prefix: str) -> None:
    """From now on every view of Flower's; another broker than Redis stays with Flower."""
    if is_redis_url(settings.env.broker_url.get_secret_value()):
        BaseHandler.get_broker = lambda _view: QueueLengths(settings, prefix)
