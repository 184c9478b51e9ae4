"""kombu's Redis transports, which connect as the address says and keep the client with which they publish.

kombu reads an address its own way (TLS without looking at certificates, no login at a sentinel), and what it has read
is shown by Flower and in the logs. So Celery's configuration gets an address without login, and the channels take
everything else from `RedisAddress`.

kombu makes a new redis-py client for every message and every event, and redis-py fills a table of 170 callbacks each
time: a message costs 176 us of CPU to publish here, 327 us with kombu's own transport (benchmarks/by_hand.py). A
client is no more than a view of the channel's pool.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from pydantic import SecretStr
from redis.backoff import NoBackoff
from redis.retry import Retry

from runtime.addresses.redis_url import RedisAddress, is_redis_url, read_redis_url

_addresses: dict[str, RedisAddress] = {}
"""By a name that stands in the transport's options, which logs and Flower may show."""


def for_celery(url: SecretStr) -> tuple[str, dict[str, Any]]:
    """The value of Celery's `broker_url`, and what belongs into its `broker_transport_options`.

    Another broker's address is Celery's own business, and stays as it is.
    """
    text = url.get_secret_value()
    if not is_redis_url(text):
        return text, {}
    address = read_redis_url(text)
    name = next((name for name, known in _addresses.items() if known == address), f"address-{len(_addresses)}")
    _addresses[name] = address
    return address.public_url, {"address": name, **({"master_name": address.master} if address.master else {})}


class _AsTheAddressSays:
    address: str = ""  # set by kombu, from the transport's options
    pool: Any
    subclient: Any
    active_fanout_queues: set[str]
    _kept: Any = None
    _in_listen: Any
    _get_subscribe_topics: Any

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        params: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[misc]  # the channel beside this class
        address = _addresses.get(self.address)
        if address is None:  # an address that was given to kombu directly
            return params
        read_by_kombu = ("username", "password", *(name for name in params if name.startswith("ssl_")))
        return {name: value for name, value in params.items() if name not in read_by_kombu} | address.connection_options

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:  # of these there is one for each connection already
            return super()._create_client(asynchronous=True)  # type: ignore[misc]
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()  # type: ignore[misc]
        return self._kept

    # kombu subscribes to patterns, which an ACL user may do only when their very text stands in its rules; names are
    # matched like keys, so that `&ns:*` is enough.

    def _subscribe(self) -> None:
        if topics := [topic for queue in self.active_fanout_queues for topic in self._get_subscribe_topics(queue)]:
            listener = self.subclient
            if listener.connection._sock is None:
                listener.connection.connect()
            self._in_listen = listener.connection
            listener.subscribe(*topics)

    def _unsubscribe_from(self, queue: str) -> None:
        listener = self.subclient
        if listener.connection and listener.connection._sock:
            listener.unsubscribe(*self._get_subscribe_topics(queue))


class Channel(_AsTheAddressSays, redis.Channel):
    from_transport_options = (*redis.Channel.from_transport_options, "address")


class SentinelChannel(_AsTheAddressSays, redis.SentinelChannel):
    from_transport_options = (*redis.SentinelChannel.from_transport_options, "address")

    @property
    def sentinel_kwargs(self) -> dict[str, Any]:
        """How kombu connects to the sentinels themselves."""
        limits = {name: getattr(self, name) for name in ("socket_timeout", "socket_connect_timeout")}
        address = _addresses.get(self.address)
        return {**limits, "retry": Retry(NoBackoff(), 0), **(address.sentinel_options if address else {})}


class Transport(redis.Transport):
    Channel = Channel


class SentinelTransport(redis.SentinelTransport):
    Channel = SentinelChannel


# By scheme, not as `broker_transport`: with that kombu forgets the scheme, and with it TLS.
TRANSPORT_ALIASES.update(
    redis=f"{__name__}:Transport", rediss=f"{__name__}:Transport", sentinel=f"{__name__}:SentinelTransport"
)
