"""Accounts whose sending rests: throttled by Meta, or waiting for a person to mend a token or a permission."""

from dataclasses import dataclass

from runtime.scripts import Scripts
from runtime.settings import Account


@dataclass(frozen=True, slots=True)
class Parked:
    reason: str
    seconds_left: float


class Parking:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def park(self, account: Account, reason: str, seconds: float) -> None:
        """All turns of the account wait this long, so that a call that must fail is not made (nor a model paid)."""
        await self._scripts.command("SET", _key(account), reason, "PX", max(round(seconds * 1000), 1))

    async def look(self, account: Account) -> Parked | None:
        reason, left = await self._scripts.run("parked", _key(account))
        return Parked(str(reason), int(left) / 1000) if reason else None

    async def release(self, account: Account) -> None:
        await self._scripts.command("DEL", _key(account))


def _key(account: Account) -> str:
    return f"ns:parked:{account.channel}:{account.id}"
