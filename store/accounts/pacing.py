"""Calls to Meta within its rate limits, which are per account: all workers take their slots from one line in Redis."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bot.incoming.events import Channel
from runtime.settings import Account
from store.accounts.parking import Parked, token_mark
from store.keys import calls_key, parking_key
from store.scripts import Scripts

Call = Literal["send", "read"]

# So many sends in any second: Instagram's own pages say 100, Messenger's 300, of which some are left to others. Reading
# conversations back is limited to 2 a second on both; evenly, so that a look that has to know does not wait behind two.
_SENDS: Mapping[Channel, int] = {Channel.INSTAGRAM: 100, Channel.MESSENGER: 250}
_SECOND_US, _READ_EVERY_US = 1_000_000, 500_000


@dataclass(frozen=True, slots=True)
class RateLimit:
    """`calls` in any `span_us` microseconds, counted at `key`."""

    key: str
    calls: int
    span_us: int


@dataclass(frozen=True, slots=True)
class Slot:
    """Taken: call once `seconds` are over."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NoSlot:
    """None is free within the caller's patience, and none was taken; the next one is `seconds` away."""

    seconds: float


def rate_limit_of(account: Account, call: Call) -> RateLimit:
    calls, span_us = (_SENDS[account.channel], _SECOND_US) if call == "send" else (1, _READ_EVERY_US)
    return RateLimit(calls_key(account, call), calls, span_us)


class Pacing:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def take(self, account: Account, call: Call, *, patience_seconds: float) -> Slot | NoSlot | Parked:
        """A slot, if one comes within `patience_seconds` and the account is not parked."""
        limit = rate_limit_of(account, call)
        wait_us, taken, reason, left_ms = await self._scripts.run(
            "pace",
            limit.key,
            limit.calls,
            limit.span_us,
            round(patience_seconds * 1000),
            parking_key(account),
            token_mark(account),
        )
        return Parked(str(reason), int(left_ms) / 1000) if reason else slot_of(wait_us, taken)

    async def wait(self, account: Account, call: Call, *, patience_seconds: float) -> Slot | NoSlot | Parked:
        """As `take`, and the slot's time has come."""
        answer = await self.take(account, call, patience_seconds=patience_seconds)
        if isinstance(answer, Slot):
            await asyncio.sleep(answer.seconds)
        return answer


def slot_of(wait_us: str | int, taken: str | int) -> Slot | NoSlot:
    """What take_slot of include/rate_limit.lua has answered."""
    seconds = int(wait_us) / 1_000_000
    return Slot(seconds) if int(taken) else NoSlot(seconds)
