"""The Lua scripts: every change of a conversation is one of these, atomic on the server."""

import hashlib
from importlib import resources
from typing import Any

from redis.exceptions import RedisError, ResponseError

from runtime.redis import Store, store_error

_FOLDER = resources.files("runtime") / "lua"


def source(name: str) -> str:
    """The script as the server gets it: its shebang, the shared functions, its own body."""
    shebang, _, body = (_FOLDER / f"{name}.lua").read_text(encoding="utf-8").partition("\n")
    common = (_FOLDER / "common.lua").read_text(encoding="utf-8")
    return f"{shebang}\n{common}\n{body}"


class Scripts:
    """Runs scripts by name on one client; a failure is a `StoreUnavailable` or, for a bug of ours, a `StoreBroken`."""

    def __init__(self, client: Store) -> None:
        self.client = client
        self._loaded: dict[str, tuple[str, str]] = {}

    async def run(self, name: str, *args: str | bytes | float) -> Any:
        known = self._loaded.get(name)
        if known is None:
            text = source(name)
            known = self._loaded[name] = (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
        digest, text = known
        call = self.client.wire.call
        try:
            try:
                return await call("EVALSHA", digest, 0, *args)
            except ResponseError as exc:
                if not str(exc).startswith("NOSCRIPT"):  # a server that was restarted has forgotten it
                    raise
                return await call("EVAL", text, 0, *args)
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc

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
