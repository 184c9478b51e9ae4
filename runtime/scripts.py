"""The Lua scripts: every change of a conversation is one of these, atomic on the server."""

from importlib import resources
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from runtime.redis import store_error

_FOLDER = resources.files("runtime") / "lua"


def source(name: str) -> str:
    """The script as the server gets it: its shebang, the shared functions, its own body."""
    shebang, _, body = (_FOLDER / f"{name}.lua").read_text(encoding="utf-8").partition("\n")
    common = (_FOLDER / "common.lua").read_text(encoding="utf-8")
    return f"{shebang}\n{common}\n{body}"


class Scripts:
    """Runs scripts by name on one client; a failure is a `StoreUnavailable` or, for a bug of ours, a `StoreBroken`."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self._loaded: dict[str, Any] = {}

    async def run(self, name: str, *args: str | bytes | float) -> Any:
        script = self._loaded.get(name)
        if script is None:
            script = self._loaded[name] = self.client.register_script(source(name))
        try:
            return await script(args=args)
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc

    async def command(self, *words: str | float) -> Any:
        """One plain command, with the same two failures."""
        try:
            return await self.client.execute_command(*words)  # type: ignore[no-untyped-call]
        except (RedisError, OSError) as exc:
            raise store_error(exc) from exc
