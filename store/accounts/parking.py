"""Accounts whose sending rests: throttled by Meta, or waiting for a person to mend a token or a permission.

A refused token or permission is the token's fault: the rest holds for senders that have this token, and not for one
that comes with another. Everything else (throttled, usage, restricted, policy_block) is the account's, for all senders.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from bot.retry import Failure
from runtime.background import Count, repeat
from runtime.logging import get_logger
from runtime.settings import Account
from store.keys import parking_key
from store.scripts import Scripts

log = get_logger(__name__)

TOKEN_BOUND = frozenset({Failure.TOKEN.value, Failure.PERMISSION.value})

# A parked account is looked at again this often: a token may be mended, a block lifted, before the time is over.
LOOK_AGAIN_SECONDS = 300.0
WAKE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Parked:
    reason: str
    seconds_left: float


class Parking:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def park(self, account: Account, reason: str, seconds: float, *, unless_parked: bool = False) -> None:
        """All turns of the account wait this long, so that a call that must fail is not made (nor a model paid).

        Where the reason is the token's fault, it holds for the turns of those who have this token.
        """
        bound, unless = "1" if reason in TOKEN_BOUND else "", "1" if unless_parked else ""
        ms = max(round(seconds * 1000), 1)
        await self._scripts.run("park", parking_key(account), reason, token_mark(account), bound, ms, unless)

    async def release(self, account: Account) -> None:
        await self._scripts.command("DEL", parking_key(account))

    async def wake(self, accounts: Iterable[Account]) -> int:
        """What waits for accounts that may send, as far as their tokens here are concerned, is due now; how many."""
        values = [value for a in accounts for value in (a.channel.value, a.id, token_mark(a))]
        return int(await self._scripts.run("wake_parked", *values)) if values else 0

    async def keep_waking(self, accounts: Iterable[Account], *, count: Count | None = None) -> None:
        """Until cancelled, from the start on: a process may have come with a new token, beside one with the old."""
        known = tuple(accounts)

        async def wake() -> None:
            if woken := await self.wake(known):
                log.info("parked_conversations_woken", conversations=woken)

        await repeat("parked_conversations", wake, every_seconds=WAKE_SECONDS, count=count)


def token_mark(account: Account) -> str:
    """Tells two tokens apart and tells neither: 48 bits of a hash."""
    token = account.token.get_secret_value()
    return sha256(b"nightshift:" + token.encode()).hexdigest()[:12] if token else "none"


def parked_for(value: str, mark: str) -> str:
    """Why a sender whose token has this `mark` must rest, "" when it need not; as include/parking.lua, rests_for."""
    reason, _, marks = value.partition(" ")
    return reason if not marks or mark in marks.split(" ") else ""
