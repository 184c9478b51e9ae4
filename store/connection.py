"""Connections to the one Redis (or Valkey): built per role, with time limits of their own, closed by who opened them.

redis-py 8's own defaults (10 retries of up to 5 s) hold one command for a minute against a frozen server and write a
non-idempotent command twice; so nothing here is retried silently, and every wait ends.
"""

import asyncio
import re
from functools import cache
from typing import Any, cast

import redis.asyncio as aioredis
from pydantic import SecretStr
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.connection import HiredisRespSerializer
from redis.exceptions import (
    BusyLoadingError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
)
from redis.exceptions import (
    TimeoutError as RedisTimeoutError,
)

from bot.errors import NightshiftError, Transient
from runtime.addresses.redis_url import RedisAddress, read_redis_url
from store.server.clock import ServerClock
from store.server.confirmation import CONFIRM_SECONDS
from store.server.multiplexed import Wire


class StoreUnavailable(Transient):
    """Redis is away, frozen, read-only or full: nothing was stored."""

    is_waited_out = True


class NotConfirmed(StoreUnavailable):
    """It is written, but not on as many replicas as `[store] replicas` asks for: a failover may still forget it."""


class StoreBroken(NightshiftError):
    """Redis answered that the request itself is wrong: a bug of ours."""

    is_bug = True


# Answers of a server that is well and did not do it: it may later, or once its operator has mended something. What it
# says of a wrong request (WRONGTYPE, NOSCRIPT that EVAL does not cure, EXECABORT, MOVED) is a bug of ours.
_REFUSALS = (
    "BUSY",  # a script of another client runs, and runs on
    "CLUSTERDOWN",
    "DENIED",  # protected mode
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "NOAUTH",
    "NOPERM",  # the user's rights
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "UNBLOCKED",
    "WRONGPASS",
)
# As the first word, or after a dash: before version 7 a script's error holds the command's.
_REFUSAL = re.compile(rf"(?:^|\s-)({'|'.join(_REFUSALS)})(?=\s|$)")
_REFUSED_PHRASES = {
    "max number of clients": "MAXCLIENTS",
    "Script killed by user": "KILLED",
    "ACL failure in script": "NOPERM",
}


def store_error(exc: BaseException) -> NightshiftError:
    """Tell "try again later" apart from a bug, whatever class the client raised."""
    if isinstance(
        exc, (RedisConnectionError, RedisTimeoutError, OutOfMemoryError, ReadOnlyError, BusyLoadingError, OSError)
    ):
        return StoreUnavailable(type(exc).__name__)
    text = str(exc)
    if isinstance(exc, ResponseError) and (refusal := _refusal(exc, text)):
        return StoreUnavailable(refusal)
    return StoreBroken(f"{type(exc).__name__}: {text[:200]}")


def _refusal(exc: ResponseError, text: str) -> str:
    """The word by which the server says that it is not the request; "" when it is."""
    code = getattr(exc, "status_code", None)  # redis-py cuts the word off where it has a class for it
    if code in _REFUSALS:
        return str(code)
    if found := _REFUSAL.search(text):
        return found[1]
    return next((word for phrase, word in _REFUSED_PHRASES.items() if phrase in text), "")


class Store(aioredis.Redis):
    """redis-py's client, and beside its pool one connection that all scripts share; another, opened by its first use,
    for what waits until replicas have it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        timeout_seconds = self.connection_pool.connection_kwargs["socket_timeout"]
        self.wire = Wire(self.connection_pool, timeout_seconds)
        self.confirming = Wire(self.connection_pool, timeout_seconds + CONFIRM_SECONDS)
        self.clock = ServerClock()

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await self.confirming.aclose()
        await self.wire.aclose()
        await super().aclose(close_connection_pool)
        if (sentinel := getattr(self.connection_pool, "sentinel_manager", None)) is not None:
            await sentinel.aclose()


def connect(
    url: SecretStr | str,
    *,
    max_connections: int,
    timeout_seconds: float,
    pool_wait_seconds: float | None = None,
    client_name: str = "nightshift",
) -> Store:
    """One client for one event loop, to an address in any of the forms of runtime/addresses/redis_url.py.

    Raises `RedisUrlInvalid` for one that is none of them. Nothing is connected yet.
    """
    address = read_redis_url(url.get_secret_value() if isinstance(url, SecretStr) else url)
    options: dict[str, Any] = {
        "decode_responses": True,
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": timeout_seconds,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 15,
        "client_name": client_name,
        **address.connection_options,
    }
    if address.master:
        return _sentinel_client(address, max_connections, timeout_seconds, options)
    plain = UnixDomainSocketConnection if address.path else Connection if address.tls is None else SSLConnection
    pool = aioredis.BlockingConnectionPool(
        connection_class=_mended(plain),
        max_connections=max_connections,
        timeout=pool_wait_seconds if pool_wait_seconds is not None else timeout_seconds,
        **options,
    )
    return cast("Store", Store.from_pool(pool))  # closing the client closes the pool, too


@cache
def _mended(plain: Any) -> Any:
    """redis-py's connection class without two habits of its asyncio side.

    It writes inside `asyncio.wait_for`, which before Python 3.12 swallows a cancellation that comes as the write ends
    (python/cpython#86296): the turn that was cancelled goes on. And it packs commands in Python, though hiredis can,
    which is a tenth of what an acknowledgement costs.
    """

    class Mended(plain):  # type: ignore[misc]  # whichever of the pool's classes the address asks for
        def pack_command(self, *args: Any) -> list[bytes]:
            packed: list[bytes] = _PACKER.pack(*args)
            return packed

        async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
            seconds: float | None = self.socket_timeout  # type: ignore[has-type]
            self.socket_timeout = None
            try:
                async with asyncio.timeout(seconds):
                    await super().send_packed_command(command, check_health)
            except TimeoutError as exc:
                raise RedisTimeoutError("Timeout writing to socket") from exc
            finally:
                self.socket_timeout = seconds

    return Mended


_PACKER: Any = HiredisRespSerializer()


def _sentinel_client(
    address: RedisAddress, max_connections: int, timeout_seconds: float, options: dict[str, Any]
) -> Store:
    limits = {"socket_timeout": timeout_seconds, "socket_connect_timeout": timeout_seconds}
    sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
        address.nodes,
        sentinel_kwargs={**limits, "retry": Retry(NoBackoff(), 0), **address.sentinel_options},
        **limits,
    )
    client: Store = sentinel.master_for(
        address.master,
        redis_class=Store,
        max_connections=8 * max_connections,  # this pool refuses where the other one waits
        ssl=address.tls is not None,
        **options,
    )
    client.connection_pool.connection_class = _mended(client.connection_pool.connection_class)  # type: ignore[arg-type]
    return client


__all__ = ["NotConfirmed", "RedisError", "Store", "StoreBroken", "StoreUnavailable", "connect", "store_error"]
