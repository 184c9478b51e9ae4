"""Sends one part of a plan: the decision is written down before the call, the fact after it, in one piece.

What Meta refuses beside the words (quick replies, link buttons, a picture) goes out again as words alone: a try of
its own, with its own decision and its own time.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.conversation import Part, PartKind, PartState
from bot.errors import NightshiftError
from bot.retry import Failure
from clients.graph.answers import Sent
from clients.graph.api import GraphAPI
from clients.graph.errors import failure_of
from runtime.cancelling import uninterrupted
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.pacing import RateLimit, Slot, rate_limit_of
from store.accounts.parking import Parking
from store.connection import StoreUnavailable
from store.incoming.received_events import METADATA_PREFIX
from store.turns.conversations import Conversations
from store.turns.decisions import LeaseTooShort, MaySend, SendRefusal
from store.turns.lease import Lease, LeaseLost
from store.turns.plans import PLAIN

log = get_logger(__name__)

SEND_MARGIN_SECONDS = 11.0  # a send may take this long (GraphAPI's limit and a little): it must end within the lease
SLOT_SECONDS = 2.0  # waited for within the lease; a longer wait is the schedule's
# So near to the end of its allowance an account rests a moment, before Meta makes it rest for longer.
USAGE_PERCENT = 90.0
USAGE_REST_SECONDS = 30.0
RECORD_WAITS_SECONDS = (0.1, 0.3, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Meta has taken it, or an echo has proved so meanwhile."""


@dataclass(frozen=True, slots=True)
class NotArrived:
    """The call was made and ended in `failure`, which may be a doubt."""

    failure: NightshiftError


class PartSender:
    """For the parts of one conversation."""

    def __init__(
        self,
        lease: Lease,
        account: Account,
        *,
        graph: Callable[[], GraphAPI],
        conversations: Conversations,
        parking: Parking,
    ) -> None:
        self._lease = lease
        self._account = account
        self._graph = graph
        self._conversations = conversations
        self._parking = parking

    async def put(self, customer_id: str, plan_id: str, part: Part) -> Arrived | NotArrived | SendRefusal:
        """What came of the call, or what forbids it."""
        sent = await self._try(customer_id, plan_id, part)
        if isinstance(sent, NotArrived) and _is_refused_beside(part, sent.failure):
            sent = await self._try(customer_id, plan_id, replace(part, plain=True, tries=part.tries + 1))
        return sent

    async def _try(self, customer_id: str, plan_id: str, part: Part) -> Arrived | NotArrived | SendRefusal:
        begun = await self._begin(plan_id, part.index)
        if not isinstance(begun, MaySend):
            return begun
        return await uninterrupted(self._send(customer_id, plan_id, part))

    async def _begin(self, plan_id: str, part: int) -> MaySend | SendRefusal:
        limit: RateLimit | None = rate_limit_of(self._account, "send")
        for _ in range(4):
            answer = await self._lease.begin_part(
                plan_id, part, margin_seconds=SEND_MARGIN_SECONDS, limit=limit, patience_seconds=SLOT_SECONDS
            )
            match answer:
                case Slot(seconds):
                    await asyncio.sleep(seconds)
                    limit = None
                case LeaseTooShort():
                    await self._lease.renew()
                case _:
                    return answer
        raise LeaseLost("too little is left of it to send anything")

    async def _send(self, customer_id: str, plan_id: str, part: Part) -> Arrived | NotArrived:
        """Call Meta and record what it said, in one piece that is not cancelled between the two."""
        sent, failure = Sent(""), None
        try:
            sent = await _call(self._graph(), customer_id, f"{METADATA_PREFIX}{plan_id}:{part.index}", part)
        except NightshiftError as exc:
            failure = exc
            log.warning(
                "send_failed",
                conversation=self._lease.conversation_id,
                part=part.index,
                kind=part.kind.value,
                error=type(exc).__name__,
                reason=str(exc),
            )
        state, code = _state_of(failure)
        if failure is not None and _is_refused_beside(part, failure):
            code = PLAIN
        stands = await self._record(plan_id, part.index, state, mid=sent.mid, code=code)
        if sent.usage_percent >= USAGE_PERCENT:
            await self._rest()
        return Arrived() if failure is None or stands is PartState.SENT else NotArrived(failure)

    async def _record(self, plan_id: str, part: int, state: PartState, *, mid: str, code: str) -> PartState | None:
        """What Meta said is known to this process alone: it is worth waiting for a server that is away."""
        conversation_id = self._lease.conversation_id
        for seconds in RECORD_WAITS_SECONDS:
            try:
                return await self._conversations.record(conversation_id, plan_id, part, state, mid=mid, code=code)
            except StoreUnavailable as exc:
                log.warning("fact_not_recorded", conversation=conversation_id, part=part, reason=str(exc))
                await asyncio.sleep(seconds)
        return await self._conversations.record(conversation_id, plan_id, part, state, mid=mid, code=code)

    async def _rest(self) -> None:
        try:
            await self._parking.park(self._account, "usage", USAGE_REST_SECONDS, unless_parked=True)
        except StoreUnavailable as exc:
            log.warning("account_not_parked", reason=str(exc))


async def _call(graph: GraphAPI, to: str, metadata: str, part: Part) -> Sent:
    if part.kind is PartKind.REACTION:
        return await graph.react(to, part.target, part.text)
    if part.plain:
        return await graph.send_text(to, part.text, metadata=metadata)
    if part.kind is PartKind.IMAGE:
        return await graph.send_image(to, part.target, metadata=metadata)
    if part.kind is PartKind.FILE:
        return await graph.send_file(to, part.target, metadata=metadata)
    if part.words:
        return await graph.send_text(to, part.words, metadata=metadata, links=part.links)
    return await graph.send_text(to, part.text, metadata=metadata, buttons=part.quick_replies)


def _is_refused_beside(part: Part, failure: NightshiftError) -> bool:
    """Meta will not take it as it is, and there is something that can be left out.

    A permission may be missing for templates alone; if it is for all messages, the words meet the same refusal.
    """
    is_more = part.kind in (PartKind.IMAGE, PartKind.FILE) or bool(part.words or part.quick_replies)
    return is_more and not part.plain and failure_of(failure) in (Failure.BAD_CONTENT, Failure.PERMISSION)


def _state_of(failure: NightshiftError | None) -> tuple[PartState, str]:
    if failure is None:
        return PartState.SENT, ""
    if failure_of(failure) is Failure.UNKNOWN:
        return PartState.UNKNOWN, type(failure).__name__
    return PartState.FAILED, type(failure).__name__
