"""Calls to Meta in step with its limits, which are per account: all workers stand in one line in Redis."""

from dataclasses import dataclass
from typing import Literal

from bot.messages import Channel
from runtime.parking import Parked, parking_key
from runtime.scripts import Scripts
from runtime.settings import Account

Line = Literal["send", "read"]

# (calls a second, at once). Instagram's own pages say 100 a second, Messenger's 300; reading conversations back is
# limited to 2 a second on both. What is sent at once comes on top in the first second.
_SEND = {Channel.INSTAGRAM: (100, 5), Channel.MESSENGER: (225, 25)}
_READ = (2, 1)


@dataclass(frozen=True, slots=True)
class Place:
    """Call after `seconds`, if `taken`; else the line is that long, and no place was taken."""

    seconds: float
    taken: bool


def line_of(account: Account, line: Line) -> tuple[str, int, int]:
    """Where the line is kept, microseconds from call to call, how many at once."""
    rate, at_once = _SEND[account.channel] if line == "send" else _READ
    return f"ns:pace:{account.channel}:{account.id}:{line}", round(1_000_000 / rate), at_once


class Pacing:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def take(self, account: Account, line: Line, *, patience_seconds: float) -> Place | Parked:
        """A place in the account's line, if it comes within `patience_seconds` and the account is not parked."""
        wait, taken, reason, left = await self._scripts.run(
            "pace", *line_of(account, line), round(patience_seconds * 1000), parking_key(account)
        )
        if reason:
            return Parked(str(reason), int(left) / 1000)
        return Place(int(wait) / 1_000_000, bool(int(taken)))
