"""A server whose clock a test moves: the scripts as they are, but for where they take the time from.

What the server does by itself (times to live, ids of streams) keeps to its real clock.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from runtime.clock import monotonic
from store.connection import Store
from store.scripts import Scripts, read_scripts

_ASKED = "redis.call('TIME')"
_MOVED = """(function()
  local real = redis.call('TIME')
  local micros = real[1] * 1000000 + real[2] + tonumber(redis.call('GET', 'test:moved') or '0') * 1000
  return {math.floor(micros / 1000000), micros % 1000000}
end)()"""


@cache
def moved_texts() -> Mapping[str, tuple[str, str]]:
    texts = {}
    for name, (_, text) in read_scripts(resources.files("store") / "lua").items():
        assert text.count(_ASKED) == (1 if "NOW" in text else 0), name  # there is one place that asks for the time
        moved = text.replace(_ASKED, _MOVED)
        texts[name] = (hashlib.sha1(moved.encode(), usedforsecurity=False).hexdigest(), moved)
    return texts


class MovedScripts(Scripts):
    """`jump` moves the server's clock alone, `pass_time` together with `steady`, the clock that never jumps."""

    def __init__(self, client: Store) -> None:
        super().__init__(client, texts=moved_texts())
        self._passed = 0.0

    async def jump(self, seconds: float) -> None:
        await self.command("INCRBY", "test:moved", round(seconds * 1000))

    async def pass_time(self, seconds: float) -> None:
        self._passed += seconds
        await self.jump(seconds)

    def steady(self) -> float:
        return monotonic() + self._passed

    async def ask_time(self) -> int:
        now_ms = int((await self.run("sums", 0))[0])
        self.clock.tells(now_ms)
        return now_ms
