"""The Lua scripts: every change of a conversation is one of these, atomic on the server."""

import asyncio
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from redis.exceptions import RedisError, ResponseError

from store.assembly.files import read_scripts
from store.connection import NotConfirmed, Store, store_error
from store.server.clock import ServerClock
from store.server.confirmation import Rounds

__all__ = ["Scripts", "read_scripts", "sources"]


@cache
def _scripts() -> Mapping[str, tuple[str, str]]:
    """All at once and once only: files that are updated under a running process must not reach it."""
    return read_scripts(resources.files("store") / "lua")


def sources() -> list[str]:
    return [text for _, text in _scripts().values()]


class Scripts:
    """Runs scripts by name on one client; a failure is a `StoreUnavailable` or, for a bug of ours, a `StoreBroken`.

    `replicas` is how many of them must have what `run_confirmed` writes. `texts` are the scripts of this package unless
    a caller brings others.
    """

    def __init__(self, client: Store, *, replicas: int = 0, texts: Mapping[str, tuple[str, str]] | None = None) -> None:
        self.client = client
        self.replicas = replicas
        self._scripts = texts or _scripts()
        self._rounds = Rounds(client.confirming, replicas)

    @property
    def clock(self) -> ServerClock:
        """The server's time, as answers have told it."""
        return self.client.clock

    async def ask_time(self) -> int:
        """The server's time now, asked of it: milliseconds since the epoch."""
        seconds, micros = await self.command("TIME")
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        self.clock.tells(now_ms)
        return now_ms

    async def run(self, name: str, *args: str | bytes | float) -> Any:
        try:
            return await self.raw(name, *args)
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc

    async def raw(self, name: str, *args: str | bytes | float) -> Any:
        """As `run`, but a failure is redis-py's own."""
        digest, text = self._scripts[name]
        call = self.client.wire.call
        try:
            return await call("EVALSHA", digest, 0, *args)
        except ResponseError as exc:
            if not _is_forgotten(exc):
                raise
            return await call("EVAL", text, 0, *args)

    async def run_confirmed(self, name: str, *args: str | bytes | float) -> Any:
        """As `run`, for what a failover must not forget: raise `NotConfirmed` when it is written but too few replicas
        say in time that they have it, too."""
        if not self.replicas:
            return await self.run(name, *args)
        answer, doubt = await self.run_doubted(name, *args)
        if reason := await doubt:
            raise NotConfirmed(reason)
        return answer

    async def run_doubted(self, name: str, *args: str | bytes | float) -> tuple[Any, asyncio.Future[str]]:
        """As `run_confirmed`, for a caller with an answer of its own to a doubt: "" is none."""
        if not self.replicas:
            return await self.run(name, *args), _no_doubt()
        digest, text = self._scripts[name]
        try:
            try:
                return await self._rounds.call(("EVALSHA", digest, 0, *args))
            except ResponseError as exc:
                if not _is_forgotten(exc):
                    raise
                return await self._rounds.call(("EVAL", text, 0, *args))
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc

    async def command_confirmed(self, *words: str | float) -> Any:
        """A command that writes, as `run_confirmed`; its answer as the server gives it."""
        if not self.replicas:
            return await self.command(*words)
        try:
            answer, doubt = await self._rounds.call(words)
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc
        if reason := await doubt:
            raise NotConfirmed(reason)
        return answer

    async def command(self, *words: str | float) -> Any:
        """One plain command, with the same two failures; the answer in the shape that redis-py gives it."""
        try:
            answer = await self.client.wire.call(*words)
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc
        shape = self.client.response_callbacks.get(str(words[0]))
        return shape(answer) if shape else answer

    async def blocking_command(self, *words: str | float) -> Any:
        """One that makes the server wait: it has a connection to itself meanwhile."""
        try:
            return await self.client.execute_command(*words)  # type: ignore[no-untyped-call]
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc


def _is_forgotten(exc: ResponseError) -> bool:
    """A server that was restarted, or promoted, does not know our scripts."""
    return str(exc).startswith("NOSCRIPT")


def _no_doubt() -> asyncio.Future[str]:
    none: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    none.set_result("")
    return none
