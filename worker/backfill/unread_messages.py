"""Reads the messages that Meta has told of without their words (an edit numbered 0 in the place of a new message)."""

import asyncio
from collections.abc import Sequence
from typing import Final

from bot.errors import NightshiftError
from bot.incoming.backfill import ReadBack
from runtime.background import Count, repeat
from runtime.logging import get_logger
from runtime.settings import Account
from store.connection import StoreUnavailable
from store.outboxes.unread_messages import Unread, UnreadMessages
from store.turns.conversations import ACCOUNT_MISSING_SECONDS
from worker.backfill.reading import MustNotRead, Reading

log = get_logger(__name__)

LOOK_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 10
SLOT_SECONDS: Final = 2.0
# Not readable yet, or Meta is away: some eight minutes in all, then a human has to look.
WAITS_SECONDS: Final = (2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 240.0)
REST_SECONDS: Final = 60.0  # at most from one look to the next while the account rests
GIVE_UP_MS: Final = 23 * 3600 * 1000  # however it rests: soon the messaging window is closed
OLD_MS: Final = 3600 * 1000  # a message so much older than its sign is no new one


class UnreadReader:
    """Any number of workers may run this: each message is leased to one of them, and stored before it is forgotten."""

    def __init__(
        self, outbox: UnreadMessages, reading: Reading, *, waits_seconds: Sequence[float] = WAITS_SECONDS
    ) -> None:
        self._outbox = outbox
        self._reading = reading
        self._waits = waits_seconds

    async def run(self, *, count: Count | None = None) -> None:
        """Until cancelled."""
        await repeat("unread_reader", self.read_due, every_seconds=LOOK_SECONDS, count=count)

    async def read_due(self) -> list[str]:
        """What became of each: "read", "known", "old", "foreign", "unreadable", or "again"."""
        due = await self._outbox.take(MOST_AT_ONCE)
        words = await asyncio.gather(*map(self._deal_with, due), return_exceptions=True)
        for word in words:
            if isinstance(word, BaseException):
                raise word
        return [word for word in words if isinstance(word, str)]

    async def _deal_with(self, unread: Unread) -> str:
        account = self._reading.settings.account(unread.channel, unread.account_id)
        if account is None:
            if self._reading.now_ms() - unread.at_ms > ACCOUNT_MISSING_SECONDS * 1000:
                return await self._settle(unread, "foreign")
            return await self._again(unread, REST_SECONDS, failed=False)  # another worker may have it
        if await self._outbox.came_by_itself(unread):
            return await self._settle(unread, "known")
        try:
            await self._reading.wait_for_slot(account, patience_seconds=SLOT_SECONDS)
            message = await self._reading.of(account).message(unread.mid, now_ms=self._reading.now_ms())
        except MustNotRead as wait:
            return await self._again(unread, min(wait.seconds + 0.1, REST_SECONDS), failed=False)
        except NightshiftError as exc:
            if isinstance(exc, StoreUnavailable):
                raise
            return await self._failed(unread, f"{type(exc).__name__}: {exc}")
        return await self._store(unread, account, message)

    async def _store(self, unread: Unread, account: Account, message: ReadBack | None) -> str:
        our_ids = await self._reading.our_ids(account)
        contact = message.contact(account.channel, account.id, our_ids) if message else None
        if message is None or contact is None:
            return await self._failed(unread, "it names no customer of this account")
        if 0 < message.created_at_ms < unread.at_ms - OLD_MS:
            return await self._settle(unread, "old")
        await self._reading.receive([message.event(contact, now_ms=self._reading.now_ms(), found="ghost_edit")])
        log.info("unread_message_read", conversation=contact.conversation_id)
        return await self._settle(unread, "read")

    async def _settle(self, unread: Unread, word: str) -> str:
        await self._outbox.settled(unread, word)
        return word

    async def _failed(self, unread: Unread, why: str) -> str:
        log.warning("unread_message_waits", account_id=unread.account_id, failures=unread.failures + 1, reason=why)
        if unread.failures >= len(self._waits):
            return await self._give_up(unread)
        return await self._again(unread, self._waits[unread.failures], failed=True)

    async def _again(self, unread: Unread, seconds: float, *, failed: bool) -> str:
        if self._reading.now_ms() - unread.at_ms > GIVE_UP_MS:
            return await self._give_up(unread)
        await self._outbox.again(unread, seconds, failed=failed)
        return "again"

    async def _give_up(self, unread: Unread) -> str:
        log.error("unread_message_given_up", account_id=unread.account_id, failures=unread.failures)
        await self._outbox.unreadable(unread)
        return "unreadable"
