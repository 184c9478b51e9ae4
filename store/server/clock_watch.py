"""The server's clock may jump: it is set right (or wrong), a machine sleeps, a failover brings another machine's clock.

Every script takes its time from the server (include/clock.lua), so one that jumps moves all deadlines at once. The
dispatcher asks every few seconds anyway, and its own steady clock says what should have come.

*Back*: what was written before lies in the future, by as much as the clock has gone. No deadline may lie further ahead
than one of its kind can, so all that do are pulled back to there. That can be done twice, or by two, and does nothing
to what was written since.

*Ahead*: a wrong clock looks the same as time that has passed (a machine that slept). Leases end, which
costs nothing but a turn. But messaging windows would close, all of them after a day's jump, and that cannot be taken
back. So until Meta's own times show that it is as late as that, a window is closed by Meta's refusal alone.
"""

from dataclasses import dataclass

from bot.alerts.alert import Alert
from runtime.logging import get_logger
from runtime.settings import Settings
from store.keys import (
    ALERTS_DUE,
    COMMENTS_DUE,
    DUE,
    GENERATIONS,
    HANDED,
    LEDGER,
    OPEN,
    UNREAD_DUE,
    marks_lock_key,
    parking_key,
)
from store.outboxes.alerts import packed
from store.scripts import Scripts
from store.turns.lease import LEASE_SECONDS

log = get_logger(__name__)

BACK_MS = 2_000
AHEAD_MS = 60_000
AT_ONCE = 500
PARKED_SECONDS = 60  # an account that rests may try after that: Meta's next refusal says for how long
# How far ahead a member may lie, in milliseconds: what is leased or tried again comes within that anyway, or may.
_SETS = {
    OPEN: 0,
    HANDED: 0,
    ALERTS_DUE: 60_000,
    COMMENTS_DUE: 60_000,
    UNREAD_DUE: 30_000,
    GENERATIONS: 300_000,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The server's time, and when by a steady clock of ours (seconds) it was asked for and answered."""

    now_ms: int
    asked: float
    answered: float


def jump_ms(before: Told, after: Told) -> int:
    """By how much the clock has gone ahead, negative when it has gone back; 0 for what the answers' way may explain."""
    least = before.now_ms + (after.asked - before.answered) * 1000
    most = before.now_ms + (after.answered - before.asked) * 1000
    if after.now_ms < least - BACK_MS:
        return round(after.now_ms - least)
    if after.now_ms > most + AHEAD_MS:
        return round(after.now_ms - most)
    return 0


class ClockWatch:
    """For one dispatcher. What was seen and could not be mended, since Redis was away, is mended at the next try."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        accounts = settings.config.accounts
        self._keys = [key for account in accounts for key in (parking_key(account), marks_lock_key(account))]
        self._limits_ms = (
            round(LEASE_SECONDS * 1000),
            round(max(settings.config.debounce.quiet_seconds, settings.config.debounce.max_wait_seconds) * 1000),
            round(max(settings.shift_of(account).takeover_minutes for account in accounts) * 60_000) if accounts else 0,
        )
        self._last: Told | None = None
        self._jumped_ms = 0
        self._looked_back = False
        self._ahead = True  # until it was asked

    def saw(self, told: Told) -> None:
        """One more answer with the server's time in it."""
        if self._last is not None:
            self._jumped_ms += jump_ms(self._last, told)
        self._last = told

    async def mend(self, *active: str) -> bool:
        """Do what has to be done, most often nothing; True when deadlines have moved. `active` are conversations in
        which something was said lately."""
        if not self._looked_back:
            await self._look_back()
        jumped_ms = self._jumped_ms
        if jumped_ms < 0:
            await self._went_back(-jumped_ms)
        elif jumped_ms > 0:
            await self._jumped_ahead(jumped_ms)
        self._jumped_ms = 0
        if self._ahead and active:
            self._ahead = bool(int(await self._scripts.run("trust_clock", AHEAD_MS, *active)))
        return jumped_ms < 0

    async def _look_back(self) -> None:
        """The clock may have gone back while no dispatcher was there: the ledger was written at a later time."""
        rows = await self._scripts.command("XREVRANGE", LEDGER, "+", "-", "COUNT", 1)
        now_ms = await self._scripts.ask_time()
        if rows and (behind := int(str(rows[0][0]).split("-")[0]) - now_ms) > BACK_MS:
            self._jumped_ms = min(self._jumped_ms, -behind)
        self._looked_back = True

    async def _went_back(self, by_ms: int) -> None:
        log.error("clock_went_back", seconds=round(by_ms / 1000))
        for key, ahead_ms in _SETS.items():
            while await self._scripts.run("pull_back", key, ahead_ms, AT_ONCE) == AT_ONCE:
                pass
        cursor = "0"
        while True:
            cursor, flat = await self._scripts.command("ZSCAN", DUE, cursor, "COUNT", AT_ONCE)
            ids = [str(member) for member, _ in flat]
            if ids:
                await self._scripts.run("pull_back_conversations", *self._limits_ms, *ids)
            if str(cursor) == "0":
                break
        for key in self._keys:  # their times to live are the server's, too
            if int(await self._scripts.command("TTL", key)) > PARKED_SECONDS:
                await self._scripts.command("EXPIRE", key, PARKED_SECONDS)
        await self._tell("clock_went_back", -by_ms)

    async def _jumped_ahead(self, by_ms: int) -> None:
        log.error("clock_jumped_ahead", seconds=round(by_ms / 1000))
        await self._tell("clock_jumped_ahead", by_ms)
        self._ahead = True

    async def _tell(self, rule: str, by_ms: int) -> None:
        alert = Alert(rule, detail=str(round(abs(by_ms) / 1000)), first_at=self._scripts.clock.now_ms())
        await self._scripts.run("clock_jumped", rule, by_ms, packed(alert))
