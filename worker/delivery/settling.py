"""Did an unknown send arrive? Read the conversation back from Meta and look for the words (meta.md 8.1)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import assert_never

from bot.conversation import Conversation, Part, PartState
from bot.errors import NightshiftError, Transient
from bot.incoming.backfill import SECOND_MS, ReadBack
from bot.outcome import Deferral
from runtime.logging import get_logger
from runtime.settings import Account
from store.hashing import text_hash
from store.turns.conversations import Conversations
from worker.backfill.reading import MustNotRead, Reading
from worker.delivery.steps import ReadAgain, SayHandover, Wait

log = get_logger(__name__)

LOOK_AGAIN_SECONDS = 10.0
SLOT_SECONDS = 2.0  # waited for within the lease; a longer wait is the schedule's
FINISH_SECONDS = 20.0  # who has begun to read finishes, or would begin anew and keep others waiting
CLOCK_SLACK_MS = 5_000  # created_time is exact to the second, and Meta's clock is not ours
SEND_TIMEOUT_MS = 10_000
MISSES_BEFORE_RESEND = 2
NEWEST = 10
# Meta cannot be asked: after twenty seconds of this the customer has waited long enough, and a human looks.
FAILED_LOOK_WAITS = (5.0, 5.0, 6.0)
# Reading back is no sending, but calls while Meta throttles lengthen the block (meta.md 6.1).
FORBIDDEN_BY = ("throttled", "usage")


@dataclass(frozen=True, slots=True)
class Found:
    """It arrived, under this message id; its echo may still be on the way."""

    mid: str


@dataclass(frozen=True, slots=True)
class NotSent:
    """Not found twice, ten seconds apart and later than the send's own time limit."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """Meta will not tell."""


@dataclass(frozen=True, slots=True)
class LookAgain:
    """The counts are those so far, and are kept with the part."""

    seconds: float
    misses: int
    failed_looks: int


Settlement = Found | NotSent | Hopeless | LookAgain


class Settler:
    """For the parts of one account's conversations."""

    def __init__(self, reading: Reading, conversations: Conversations, account: Account) -> None:
        self._reading = reading
        self._conversations = conversations
        self._account = account

    async def settle(self, conversation: Conversation, plan_id: str, part: Part) -> ReadAgain | Wait | SayHandover:
        """Find out and write it down; a part is never sent on a guess."""
        try:
            settlement = await self.look_up(conversation, part)
        except MustNotRead as wait:
            seconds = min(wait.seconds + 0.5, LOOK_AGAIN_SECONDS) if wait.is_parked else wait.seconds
            return Wait(seconds, Deferral.SETTLING, "settling")
        record, which = self._conversations.record, (conversation.id, plan_id, part.index)
        match settlement:
            case Found(mid):
                await record(*which, PartState.SENT, mid=mid)
                return ReadAgain()
            case NotSent():
                await record(*which, PartState.FAILED, code="not_found")
                return ReadAgain()
            case Hopeless():
                return SayHandover("send_unknown")
            case LookAgain(seconds, misses, failed_looks):
                await record(*which, PartState.UNKNOWN, misses=misses, failed_looks=failed_looks)
                return Wait(seconds, Deferral.SETTLING, "settling")
            case _:
                assert_never(settlement)

    async def look_up(self, conversation: Conversation, part: Part) -> Settlement:
        """Raise `MustNotRead` when the look has to wait for its slot."""
        await self._slot(SLOT_SECONDS)
        asked_ms = _asked_ms(conversation)
        since_ms = part.sending_at_ms - CLOCK_SLACK_MS
        try:
            recent = [m async for m in self._recent(conversation, since_ms=min(since_ms, asked_ms or since_ms))]
        except NightshiftError as exc:
            log.warning("settling_blind", conversation=conversation.id, error=type(exc).__name__, reason=str(exc))
            if part.failed_looks >= len(FAILED_LOOK_WAITS) or not isinstance(exc, Transient):
                return Hopeless()
            return LookAgain(FAILED_LOOK_WAITS[part.failed_looks], part.misses, part.failed_looks + 1)
        on_template = part.words != "" and not part.plain
        wanted = text_hash(part.words if on_template else part.text)
        for message in recent:
            created_ms, mid = message.created_at_ms, message.mid
            fresh = not created_ms or created_ms >= since_ms
            # Our clock may be ahead of Meta's by any amount, but by Meta's own a reply is younger than what it answers.
            answers = not fresh and 0 < asked_ms <= created_ms and not await self._is_known(conversation, mid)
            if message.from_id == conversation.contact.customer_id or not (fresh or answers):
                continue
            if text_hash(message.text) == wanted:
                return Found(mid)
            # A template may be read back without its words. So is a picture, the last one of ours or a human's: only
            # what no webhook and no call of ours has told of yet can be it.
            if on_template and not message.text.strip() and not await self._is_known(conversation, mid):
                return Found(mid)
        if conversation.now_ms - part.sending_at_ms <= SEND_TIMEOUT_MS:
            return LookAgain(LOOK_AGAIN_SECONDS, part.misses, part.failed_looks)
        if part.misses + 1 >= MISSES_BEFORE_RESEND:
            return NotSent()
        return LookAgain(LOOK_AGAIN_SECONDS, part.misses + 1, part.failed_looks)

    async def _recent(self, conversation: Conversation, *, since_ms: int) -> AsyncIterator[ReadBack]:
        """The newest messages of both sides, the newest first. Where Meta lists bare ids, those since then are read one
        by one: every such call counts in its limit."""
        now_ms = self._reading.now_ms()
        customer_id = conversation.contact.customer_id
        thread = await self._reading.of(self._account).thread_with(customer_id, now_ms=now_ms, limit=NEWEST)
        for message in thread.messages if thread else ():
            if not message.is_bare:
                yield message
            elif not 0 < message.created_at_ms < since_ms:
                await self._slot(FINISH_SECONDS)
                if whole := await self._reading.whole(self._account, message):
                    yield whole

    async def _slot(self, patience_seconds: float) -> None:
        await self._reading.wait_for_slot(self._account, patience_seconds=patience_seconds, forbidden_by=FORBIDDEN_BY)

    async def _is_known(self, conversation: Conversation, mid: str) -> bool:
        return await self._conversations.knows_as_sent(conversation.id, mid)


def _asked_ms(conversation: Conversation) -> int:
    """When by Meta's clock, and to its second, the newest of the messages came that the plan answers; 0: unknown."""
    keys = conversation.plan.keys if conversation.plan else ()
    answered = (message.at_ms for message in conversation.messages if message.key in keys)
    return max(answered, default=0) // SECOND_MS * SECOND_MS
