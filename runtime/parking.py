"""Accounts whose sending rests: throttled by Meta, or waiting for a person to mend a token or a permission."""

from dataclasses import dataclass

from runtime.scripts import Scripts
from runtime.settings import Account


@dataclass(frozen=True, slots=True)
class Parked:
    reason: str
    seconds_left: float


# A parked account is looked at again this often: a token may be mended, a block lifted, before the time is over.
LOOK_AGAIN_SECONDS = 300.0


class Parking:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def park(self, account: Account, reason: str, seconds: float, *, unless_parked: bool = False) -> None:
        """All turns of the account wait this long, so that a call that must fail is not made (nor a model paid)."""
        words: list[str | int] = ["SET", parking_key(account), reason, "PX", max(round(seconds * 1000), 1)]
        await self._scripts.command(*words, *(["NX"] if unless_parked else []))

    async def release(self, account: Account) -> None:
        await self._scripts.command("DEL", parking_key(account))


def parking_key(account: Account) -> str:
    return f"ns:parked:{account.channel}:{account.id}"
