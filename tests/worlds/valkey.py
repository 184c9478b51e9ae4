"""The real server, asked one call at a time, with the world's clock in place of its own.

The scripts are the product's but for where they take the time from, as in `tests/jumping_clock.py`. Times to live are
the server's own and would stand still while a world's hours pass in milliseconds, so `pass_time` shortens them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import hiredis
import redis
from redis.exceptions import ResponseError

from store.scripts import read_scripts

_ASKED = "redis.call('TIME')"
_OF_THE_WORLD = """(function()
  local ms = tonumber(redis.call('GET', 'world:now'))
  return {math.floor(ms / 1000), (ms % 1000) * 1000}
end)()"""
# ARGV: milliseconds that have passed
_PASS_TIME = """
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= tonumber(ARGV[1]) then redis.call('DEL', key) else redis.call('PEXPIRE', key, left - ARGV[1]) end
  end
end
"""

Texts = Mapping[str, tuple[str, str]]
"""Digest and source of each script by its name, as `store.scripts.read_scripts` gives them."""


@cache
def product_texts() -> Texts:
    """The product's own scripts, in the world's time."""
    return in_world_time(read_scripts(resources.files("store") / "lua"))


def in_world_time(texts: Texts) -> Texts:
    moved = {}
    for name, (_, text) in texts.items():
        if text.count(_ASKED) != ("NOW" in text):
            raise AssertionError(f"{name}.lua has to ask for the time in one place")
        text = text.replace(_ASKED, _OF_THE_WORLD)
        moved[name] = (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
    return moved


class WorldValkey:
    """One connection, used by one world after the other; `clear` begins a new one."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url, decode_responses=True)
        self._connection: Any = self._client.connection_pool.get_connection()
        self._known: set[str] = set()
        self._told: int | None = None
        self._pass_time = str(self.call("SCRIPT", "LOAD", _PASS_TIME))

    def clear(self, texts: Texts) -> None:
        self.call("FLUSHALL")
        self._told = None
        for digest, text in texts.values():
            if digest not in self._known:
                self.call("SCRIPT", "LOAD", text)
                self._known.add(digest)

    def pass_time(self, milliseconds: int) -> None:
        self.call("EVALSHA", self._pass_time, 0, milliseconds)

    def at(self, now: int, *words: str | bytes | float) -> Any:
        """The answer to one call while the server's clock says `now`; an error that it answers is raised."""
        if self._told != now:
            self._told = now
            self.call("SET", "world:now", now)
        return self.call(*words)

    def call(self, *words: str | bytes | float) -> Any:
        return self.together([words])[0]

    def together(self, calls: Sequence[Sequence[str | bytes | float]]) -> list[Any]:
        """Several in one round trip; the first error that is answered is raised."""
        packed = (hiredis.pack_command(tuple(words)) for words in calls)  # type: ignore[arg-type]  # wants ints as well
        self._connection.send_packed_command([b"".join(packed)])
        answers = []
        errors = []
        for _ in calls:
            try:
                answers.append(self._connection.read_response())
            except ResponseError as exc:
                errors.append(exc)
        if errors:
            raise errors[0]
        return answers

    def close(self) -> None:
        self._client.connection_pool.release(self._connection)
        self._client.close()
