"""kombu's Redis transports, whose channels keep the client with which they publish.

kombu makes a new redis-py client for every message and every event, and redis-py fills a table of 170 callbacks each
time: a third of what it costs to hand a poke to Celery. A client is no more than a view of the channel's pool.
"""

from typing import Any

from kombu.transport import redis

from runtime.sentinel_url import parse_sentinel_url


class _KeepsItsClient:
    pool: Any
    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:  # of these there is one for each connection already
            return super()._create_client(asynchronous=True)  # type: ignore[misc]  # the channel beside this class
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()  # type: ignore[misc]
        return self._kept


class Channel(_KeepsItsClient, redis.Channel):
    pass


class SentinelChannel(_KeepsItsClient, redis.SentinelChannel):
    pass


class Transport(redis.Transport):
    Channel = Channel


class SentinelTransport(redis.SentinelTransport):
    Channel = SentinelChannel


def transport_of(broker_url: str) -> str | None:
    """The value of Celery's `broker_transport`; None leaves another broker's to Celery."""
    if parse_sentinel_url(broker_url) is not None:
        return "runtime.broker:SentinelTransport"
    return "runtime.broker:Transport" if broker_url.startswith(("redis://", "rediss://")) else None
