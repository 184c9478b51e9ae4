"""When was an account first seen, and when were its conversations last looked through? One process looks at a time."""

import secrets
from collections.abc import Callable, Iterable

from runtime.background import OVER, Count, Over, repeat
from runtime.settings import Account
from store.keys import FIRST_SEEN, RECONCILED, marks_lock_key
from store.scripts import Scripts

RETRY_SECONDS = 5.0


class Marks:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def meet(self, accounts: Iterable[Account], *, now_ms: Callable[[], int], count: Count | None = None) -> None:
        """Note that these are there by now, however long Redis is away."""

        async def note_all() -> Over:
            await self._scripts.ask_time()
            for account in accounts:
                await self.first_seen_ms(account, now_ms=now_ms())
            return OVER

        await repeat("first_seen", note_all, every_seconds=RETRY_SECONDS, count=count)

    async def first_seen_ms(self, account: Account, *, now_ms: int) -> int:
        """Noted now if it never was. What came before that is none of this installation's business."""
        await self._scripts.command("HSETNX", FIRST_SEEN, _name(account), now_ms)
        return int(await self._scripts.command("HGET", FIRST_SEEN, _name(account)))

    async def last_ms(self, account: Account) -> tuple[int, int]:
        """When the last look began that came to its end, and the last one that went all the way; 0 for none."""
        names = _name(account), f"{_name(account)} whole"
        last, whole = await self._scripts.command("HMGET", RECONCILED, *names)
        return int(last or 0), int(whole or 0)

    async def finished(self, account: Account, *, began_ms: int, whole: bool) -> None:
        name = _name(account)
        also: list[str | float] = [f"{name} whole", began_ms] if whole else []
        await self._scripts.command("HSET", RECONCILED, name, began_ms, *also)

    async def begin(self, account: Account, *, seconds: float) -> str:
        """A token, when no other process looks now; the right ends by itself after `seconds`. Else ""."""
        token = secrets.token_hex(8)
        taken = await self._scripts.command("SET", marks_lock_key(account), token, "NX", "PX", round(seconds * 1000))
        return token if taken else ""

    async def end(self, account: Account, token: str, *, rest_seconds: float) -> None:
        """No process looks again before `rest_seconds` are over: tasks that have piled up do nothing."""
        if await self._scripts.command("GET", marks_lock_key(account)) == token:
            # In no time at all it is gone at once.
            await self._scripts.command("PEXPIRE", marks_lock_key(account), round(rest_seconds * 1000))


def _name(account: Account) -> str:
    return f"{account.channel} {account.id}"
