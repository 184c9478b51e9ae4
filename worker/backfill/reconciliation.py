"""Marks through the conversations that Meta keeps for messages that no webhook has brought (meta.md 10, 20 and 22)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.alerts.alert import Alert
from bot.errors import NightshiftError
from bot.incoming.events import Contact, CustomerMessage
from bot.incoming.reconciliation import Seen, find_lost
from clients.graph.reading import Thread
from runtime.clock import monotonic
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.marks import Marks
from store.incoming.known_messages import Known
from store.outboxes.system_incidents import SystemIncidents
from worker.backfill.reading import MustNotRead, Reading

log = get_logger(__name__)

LOOK_SECONDS: Final = 90.0  # for one account; who has more to read goes on at the next look
CALL_SECONDS: Final = 20.0  # the longest that a call which has begun takes to end
MOST_PAGES: Final = 50
# Before the last look's beginning: what was too young for it, and the clocks of others.
OVERLAP_MS: Final = 3 * 60_000
# What was written as a message request comes into the list by its own old time once it is accepted, so every now and
# then a look goes all the way back.
WHOLE_EVERY_MS: Final = 3_600_000
MANY_LOST: Final = 5  # in one look: that is no single lost webhook any more
RULE: Final = "webhooks_lost"


@dataclass(slots=True)
class Look:
    """What one look at one account has found. `ended`: all that it was to look through; `whole`: that
    was all there is of the last hours."""

    conversations: int = 0
    lost: int = 0
    ended: bool = False
    whole: bool = False


class Reconciler:
    def __init__(
        self,
        reading: Reading,
        looks: Marks,
        incidents: SystemIncidents,
        *,
        look_seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._reading = reading
        self._looks = looks
        self._incidents = incidents
        self._look_seconds = look_seconds
        self._clock = clock

    async def reconcile(self) -> str:
        """One look at every account that no other process looks at; a result for Flower. Raises `StoreUnavailable`."""
        settings = self._reading.settings
        if not settings.config.reconcile.minutes:
            return "off"
        looks = [look for look in await asyncio.gather(*map(self._look_alone, settings.config.accounts)) if look]
        if not looks:
            return "not yet"
        lost, ended = sum(look.lost for look in looks), all(look.ended for look in looks)
        await self._tell(lost, ended=ended)
        found = f"{lost} found" if lost else "nothing lost"
        return found if ended else f"{found}, not finished"

    async def _tell(self, lost: int, *, ended: bool) -> None:
        now_ms = self._reading.now_ms()
        if lost >= MANY_LOST:
            if await self._incidents.broke(Alert(RULE, detail=str(lost)), now_ms=now_ms):
                log.error("webhooks_lost", messages=lost)
        elif not lost and ended and await self._incidents.is_well(RULE, now_ms=now_ms, steady_seconds=0):
            log.info("webhooks_come_again")

    async def _look_alone(self, account: Account) -> Look | None:
        token = await self._looks.begin(account, seconds=self._look_seconds + CALL_SECONDS)
        if not token:
            return None
        began_ms, look, rest_seconds = self._reading.now_ms(), Look(), 0.0
        try:
            await self._look_through(account, look)
            if look.ended:
                await self._looks.finished(account, began_ms=began_ms, whole=look.whole)
                rest_seconds = self._reading.settings.config.reconcile.minutes * 60 / 2
        except MustNotRead as wait:
            log.info("reconciling_waits", account_id=account.id, seconds=round(wait.seconds, 1))
        except NightshiftError as exc:
            log.warning("reconciling_failed", account_id=account.id, error=type(exc).__name__, reason=str(exc))
        finally:
            await self._looks.end(account, token, rest_seconds=rest_seconds)
        log.info("reconciled", account_id=account.id, conversations=look.conversations, lost=look.lost)
        return look

    async def _look_through(self, account: Account, look: Look) -> None:
        until = self._clock() + self._look_seconds
        now_ms = self._reading.now_ms()
        hours_ms = round(self._reading.settings.config.reconcile.hours * 3_600_000)
        oldest_ms = max(await self._looks.first_seen_ms(account, now_ms=now_ms), now_ms - hours_ms)
        last_ms, whole_ms = await self._looks.last_ms(account)
        look.whole = now_ms - whole_ms >= WHOLE_EVERY_MS
        since_ms = oldest_ms if look.whole else max(last_ms - OVERLAP_MS, oldest_ms)
        after = ""
        for _ in range(MOST_PAGES):
            await self._stand_behind_others(account, until)
            page = await self._reading.of(account).threads(now_ms=now_ms, after=after)
            for thread in page.threads:
                if thread.updated_at_ms < since_ms - 1000:  # told to the second
                    look.ended = True
                    return
                look.conversations += 1
                look.lost += await self._look_into(account, thread, oldest_ms, until)
            if not page.after:
                look.ended = True
                return
            after = page.after
        log.warning("reconciling_cut", account_id=account.id, conversations=look.conversations)
        look.ended = True  # with so many in so short a time, what is older will be no easier to reach at the next look

    async def _look_into(self, account: Account, thread: Thread, oldest_ms: int, until: float) -> int:
        """How many messages of the customer's were not in the books."""
        our_ids = await self._reading.our_ids(account)
        customers = [party for party in thread.party_ids if party not in our_ids]
        if len(customers) != 1:
            log.info("conversation_of_nobody", account_id=account.id, parties=len(thread.party_ids))
            return 0
        contact = Contact(account.channel, account.id, customers[0])
        recent = [message for message in thread.messages if message.created_at_ms >= oldest_ms]
        for place, known in enumerate(await self._reading.known(contact.conversation_id, recent)):
            if known is Known.NOT and recent[place].is_bare:
                await self._stand_behind_others(account, until)
                recent[place] = await self._reading.whole(account, recent[place]) or recent[place]
        known_now = await self._reading.known(contact.conversation_id, recent)
        seen = [
            Seen(
                message,
                from_account=known in {Known.ECHO, Known.OURS} or message.from_id not in {"", contact.customer_id},
                known=known in {Known.ECHO, Known.MESSAGE},
                ours=known is Known.OURS,
            )
            for message, known in zip(recent, known_now, strict=True)
            if known is not Known.NOT or not message.is_bare
        ]
        automatic_ms = round(self._reading.settings.shift_of(account).ignore_auto_replies_seconds * 1000)
        now_ms = self._reading.now_ms()
        events = find_lost(seen, contact, now_ms=now_ms, since_ms=oldest_ms, automatic_ms=automatic_ms)
        if events:
            await self._reading.receive(events)
        return sum(isinstance(event, CustomerMessage) for event in events)

    async def _stand_behind_others(self, account: Account, until: float) -> None:
        """A slot only when no other call waits for one: the settling of a reply has a customer waiting."""
        while True:
            try:
                await self._reading.wait_for_slot(account, patience_seconds=0)
            except MustNotRead as wait:
                if self._clock() + wait.seconds > until:
                    raise
                await asyncio.sleep(wait.seconds + 0.05)
            else:
                return
