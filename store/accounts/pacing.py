"""Calls to Meta in step with its limits, which are per account: all workers stand in one line in Redis."""

from dataclasses import dataclass
from typing import Literal

from bot.incoming.events import Channel
from runtime.settings import Account
from store.accounts.parking import Parked, token_mark
from store.keys import calls_key, parking_key
from store.scripts import Scripts

Line = Literal["send", "read"]

# So many sends in any second: Instagram's own pages say 100, Messenger's 300, of which some are left to others. Reading
# conversations back is limited to 2 a second on both; evenly, so that whoever has to know does not wait behind two.
_SENDS = {Channel.INSTAGRAM: 100, Channel.MESSENGER: 250}
_SECOND_US, _READ_EVERY_US = 1_000_000, 500_000


@dataclass(frozen=True, slots=True)
class Place:
    """Call after `seconds`, if `taken`; else the line is that long, and no place was taken."""

    seconds: float
    taken: bool


def line_of(account: Account, line: Line) -> tuple[str, int, int]:
    """Where the line is kept, how many may call in any span of time, and that span in microseconds."""
    most, span = (_SENDS[account.channel], _SECOND_US) if line == "send" else (1, _READ_EVERY_US)
    return calls_key(account, line), most, span


class Pacing:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def take(self, account: Account, line: Line, *, patience_seconds: float) -> Place | Parked:
        """A place in the account's line, if it comes within `patience_seconds` and the account is not parked."""
        wait, taken, reason, left = await self._scripts.run(
            "pace",
            *line_of(account, line),
            round(patience_seconds * 1000),
            parking_key(account),
            token_mark(account),
        )
        if reason:
            return Parked(str(reason), int(left) / 1000)
        return Place(int(wait) / 1_000_000, bool(int(taken)))
