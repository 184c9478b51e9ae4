"""Answers comments that ask for it with one private message each, in words that the configuration gives."""

import asyncio
from collections.abc import Callable
from typing import Final

from bot.errors import NightshiftError, OutcomeUnknown, Refused
from bot.incoming.comments import may_reply_privately
from bot.retry import Failure, ParkAccount, RetryAfter, plan_retry
from clients.graph.api import GraphAPI
from clients.graph.errors import failure_of
from runtime.background import Count, repeat
from runtime.logging import get_logger
from runtime.settings import Account, Settings
from store.accounts.pacing import NoSlot, Pacing
from store.accounts.parking import Parked, Parking
from store.outboxes.comments import CommentOutbox, WaitingComment
from store.turns.conversations import ACCOUNT_MISSING_SECONDS

log = get_logger(__name__)

LOOK_SECONDS: Final = 2.0
MOST_AT_ONCE: Final = 20
MOST_TRIES: Final = 20
PATIENCE_SECONDS: Final = 1.0
MISSING_ACCOUNT_SECONDS: Final = 30.0
FAULT_SECONDS: Final = 60.0  # until one that has met a bug of ours is tried again
MOST_PARKED_SECONDS: Final = 30.0  # until the account's rest is asked after again: it may have got a new token


class PrivateReplies:
    """Any number of workers may run this: `begin` lets one of them send."""

    def __init__(
        self,
        outbox: CommentOutbox,
        *,
        settings: Settings,
        graph: Callable[[Account], GraphAPI],
        pacing: Pacing,
        parking: Parking,
        now_ms: Callable[[], int],
    ) -> None:
        self._outbox = outbox
        self._settings = settings
        self._graph = graph
        self._pacing = pacing
        self._parking = parking
        self._now_ms = now_ms

    async def run(self, *, count: Count | None = None) -> None:
        """Until cancelled."""
        await repeat("private_replies", self.send_due, every_seconds=LOOK_SECONDS, count=count)

    async def send_due(self) -> int:
        """How many were delivered. What goes wrong with one is raised once the others have had their turn."""
        sent, failure = 0, None
        for waiting in await self._outbox.due(now_ms=self._now_ms(), limit=MOST_AT_ONCE):
            try:
                sent += await self._answer(waiting) == "sent"
            except NightshiftError:
                raise
            except Exception as exc:  # noqa: BLE001 - raised below
                failure = exc
                await self._outbox.again(waiting, FAULT_SECONDS)
        if failure is not None:
            raise failure
        return sent

    async def _answer(self, waiting: WaitingComment) -> str:
        comment = waiting.comment
        account = self._settings.account(comment.channel, comment.account_id)
        if account is None and self._now_ms() - comment.at_ms < ACCOUNT_MISSING_SECONDS * 1000:
            await self._outbox.again(waiting, MISSING_ACCOUNT_SECONDS)  # another worker may have it
            return "account_missing"
        if account is None or waiting.tries >= MOST_TRIES or not may_reply_privately(comment.at_ms, self._now_ms()):
            return await self._drop(waiting, "expired")
        slot = await self._pacing.wait(account, "send", patience_seconds=PATIENCE_SECONDS)
        if isinstance(slot, Parked):
            await self._outbox.again(waiting, min(slot.seconds_left + 1, MOST_PARKED_SECONDS))
            return "parked"
        if isinstance(slot, NoSlot):
            return "waits"
        reply = self._settings.config.comments.reply
        began = await self._outbox.begin(waiting, reply)
        if began != "sending":
            return began
        # A call that has begun is recorded, even if the worker stops.
        return await asyncio.shield(asyncio.create_task(self._send(account, waiting, reply)))

    async def _send(self, account: Account, waiting: WaitingComment, reply: str) -> str:
        try:
            sent = await self._graph(account).send_private_reply(waiting.comment.comment_id, reply)
        except OutcomeUnknown:
            return await self._drop(waiting, "unknown")  # never a second time on a doubt
        except Refused as exc:
            log.info("private_reply_refused", account=account.id, reason=str(exc))
            return await self._drop(waiting, "refused")
        except NightshiftError as exc:
            return await self._again(account, waiting, exc)
        await self._outbox.sent(waiting, customer_id=sent.customer_id, mid=sent.mid, reply=reply, now_ms=self._now_ms())
        log.info("private_reply_sent", account=account.id)
        return "sent"

    async def _again(self, account: Account, waiting: WaitingComment, exc: NightshiftError) -> str:
        """It did not happen: the same waits as for any other reply."""
        plan = plan_retry(
            failure_of(exc, attempt=waiting.tries + 1),
            attempt=waiting.tries + 1,
            elapsed_seconds=0,
            deadline_seconds=7 * 86_400,
            jitter=0.5,
            retry_after_seconds=getattr(exc, "retry_after_seconds", None),
        )
        match plan:
            case ParkAccount(reason, seconds):
                if reason != Failure.PERMISSION:  # that for comments is another one than that for messages
                    await self._parking.park(account, reason, seconds, unless_parked=True)
                await self._outbox.again(waiting, seconds)
            case RetryAfter(seconds):
                await self._outbox.again(waiting, seconds)
            case _:
                return await self._drop(waiting, "refused")
        log.warning("private_reply_waits", account=account.id, error=type(exc).__name__, reason=str(exc))
        return "again"

    async def _drop(self, waiting: WaitingComment, word: str) -> str:
        await self._outbox.drop(waiting, word)
        return word
