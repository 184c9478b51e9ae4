"""The Lua scripts: every change of a conversation is one of these, atomic on the server."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from redis.exceptions import RedisError, ResponseError

from runtime.redis import Store, store_error


def read_scripts(folder: Traversable) -> Mapping[str, tuple[str, str]]:
    """Digest and source of each script, as the server gets it: its shebang, the shared functions, its own body."""
    common = (folder / "common.lua").read_text(encoding="utf-8")
    found: dict[str, tuple[str, str]] = {}
    for file in folder.iterdir():
        name, dot, kind = file.name.partition(".")
        if kind == "lua" and dot and name != "common":
            shebang, _, body = file.read_text(encoding="utf-8").partition("\n")
            text = f"{shebang}\n{common}\n{body}"
            found[name] = (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
    return found


@cache
def _scripts() -> Mapping[str, tuple[str, str]]:
    """All at once and once only: files that are updated under a running process must not reach it."""
    return read_scripts(resources.files("runtime") / "lua")


def sources() -> list[str]:
    return [text for _, text in _scripts().values()]


class Scripts:
    """Runs scripts by name on one client; a failure is a `StoreUnavailable` or, for a bug of ours, a `StoreBroken`."""

    def __init__(self, client: Store) -> None:
        self.client = client
        self._scripts = _scripts()

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
            if not str(exc).startswith("NOSCRIPT"):  # a server that was restarted has forgotten it
                raise
            return await call("EVAL", text, 0, *args)

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
