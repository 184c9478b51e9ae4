"""Sends one part of a plan: the decision is written down before the call, the fact after it, in one piece.

What Meta refuses beside the words (quick replies, link buttons, a picture) goes out again as words alone: a try of
its own, with its own decision and its own time.
"""

import asyncio
from dataclasses import replace

from bot.conversation import Conversation, Part, PartKind, PartState, Plan
from bot.errors import NightshiftError
from bot.reply.quick_replies import SEPARATOR
from bot.reply.rich_content import unpack_links
from bot.retry import Failure
from clients.graph.api import GraphAPI
from clients.graph.errors import failure_of
from runtime.cancelling import uninterrupted
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.pacing import Place, line_of
from store.accounts.parking import Parked
from store.connection import StoreUnavailable
from store.conversations import Lease, LeaseLost
from store.plans import PLAIN
from store.received_events import METADATA_PREFIX
from worker.services import House

log = get_logger(__name__)

SEND_MARGIN_SECONDS = 11.0  # a send may take this long (GraphAPI's limit and a little): it must end within the lease
LINE_SECONDS = 2.0  # waited for within the lease; a longer line is waited for in the schedule
# So near to the end of its allowance an account rests a moment, before Meta makes it rest for longer.
USAGE_PERCENT = 90.0
USAGE_REST_SECONDS = 30.0


class PartSender:
    def __init__(self, house: House, lease: Lease, account: Account) -> None:
        self._house = house
        self._lease = lease
        self._account = account

    async def put(
        self, conversation: Conversation, plan: Plan, part: Part
    ) -> tuple[str | Place | Parked, NightshiftError | None]:
        """ "sending" with what came of the call (None: it arrived), or what forbids it: the part's state, a line that
        is too long, the account's rest, or "unconfirmed" (by the replicas that have to know of it first)."""
        begun, failure = await self._try(conversation, plan, part)
        if begun == PartState.SENDING and failure is not None and _is_refused_beside(plan, part, failure):
            plain = replace(part, plain=True, tries=part.tries + 1)
            begun, failure = await self._try(conversation, plan, plain)
        return begun, failure

    async def _try(
        self, conversation: Conversation, plan: Plan, part: Part
    ) -> tuple[str | Place | Parked, NightshiftError | None]:
        begun = await self._begin(plan, part)
        if begun != PartState.SENDING:
            return begun, None
        return begun, await uninterrupted(self._send(conversation, plan, part))

    async def _begin(self, plan: Plan, part: Part) -> str | Place | Parked:
        line: tuple[str, int, int] | None = line_of(self._account, "send")
        for _ in range(4):
            begun = await self._lease.begin_part(
                plan.id,
                part.index,
                margin_seconds=SEND_MARGIN_SECONDS,
                line=line,
                patience_seconds=LINE_SECONDS,
            )
            if isinstance(begun, Place) and begun.taken:
                await asyncio.sleep(begun.seconds)
                line = None
            elif begun == "late":
                await self._lease.renew()
            else:
                return begun
        raise LeaseLost("too little is left of it to send anything")

    async def _send(self, conversation: Conversation, plan: Plan, part: Part) -> NightshiftError | None:
        """Call Meta and record what it said, in one piece that is not cancelled between the two."""
        graph = self._house.graph(self._account)
        mid, failure = "", None
        try:
            mid = await self._call(graph, conversation, plan, part)
        except NightshiftError as exc:
            failure = exc
            log.warning(
                "send_failed",
                conversation=conversation.id,
                part=part.index,
                kind=part.kind.value,
                error=type(exc).__name__,
                reason=str(exc),
            )
        state, code = _state_of(failure)
        if failure is not None and _is_refused_beside(plan, part, failure):
            code = PLAIN
        stands = await self._record(conversation, plan, part, state, mid=mid, code=code)
        if graph.usage_percent >= USAGE_PERCENT:
            graph.usage_percent = 0.0  # told once; the next answer tells again
            try:
                await self._house.parking.park(self._account, "usage", USAGE_REST_SECONDS, unless_parked=True)
            except StoreUnavailable as exc:
                log.warning("account_not_parked", reason=str(exc))
        return None if stands == PartState.SENT else failure

    async def _call(self, graph: GraphAPI, conversation: Conversation, plan: Plan, part: Part) -> str:
        """The message id, "" for a reaction, which has none."""
        to, metadata = conversation.contact.customer_id, f"{METADATA_PREFIX}{plan.id}:{part.index}"
        if part.kind is PartKind.REACTION:
            await graph.react(to, part.target, part.text)
            return ""
        if part.kind is PartKind.IMAGE and not part.plain:
            return await graph.send_image(to, part.target, metadata=metadata)
        if part.kind is PartKind.FILE and not part.plain:
            return await graph.send_file(to, part.target, metadata=metadata)
        if part.words and not part.plain:
            return await graph.send_text(to, part.words, metadata=metadata, links=unpack_links(plan.meta.links))
        buttons = () if part.plain else _buttons_of(plan, part)
        return await graph.send_text(to, part.text, metadata=metadata, buttons=buttons)

    async def _record(
        self, conversation: Conversation, plan: Plan, part: Part, state: PartState, *, mid: str, code: str
    ) -> str:
        """What Meta said is the one thing nobody else knows: it is worth waiting for a server that is away."""
        for seconds in (0.1, 0.3, 1.0, 2.0, 4.0):
            try:
                return await self._house.conversations.record(
                    conversation.id, plan.id, part.index, state, mid=mid, code=code
                )
            except StoreUnavailable as exc:
                log.warning("fact_not_recorded", conversation=conversation.id, part=part.index, reason=str(exc))
                await asyncio.sleep(seconds)
        return await self._house.conversations.record(conversation.id, plan.id, part.index, state, mid=mid, code=code)


def _buttons_of(plan: Plan, part: Part) -> tuple[str, ...]:
    """The last words carry what may be tapped as an answer."""
    is_last = part.index == len(plan.parts) - 1
    return tuple(filter(None, plan.meta.buttons.split(SEPARATOR))) if is_last else ()


def _is_refused_beside(plan: Plan, part: Part, failure: NightshiftError) -> bool:
    """Meta will not take it as it is, and there is something that can be left out.

    A permission may be missing for templates alone; if it is for all messages, the words meet the same refusal.
    """
    is_more = part.kind in (PartKind.IMAGE, PartKind.FILE) or bool(part.words or _buttons_of(plan, part))
    return is_more and not part.plain and failure_of(failure) in (Failure.BAD_CONTENT, Failure.PERMISSION)


def _state_of(failure: NightshiftError | None) -> tuple[PartState, str]:
    if failure is None:
        return PartState.SENT, ""
    if failure_of(failure).value == "unknown":
        return PartState.UNKNOWN, type(failure).__name__
    return PartState.FAILED, type(failure).__name__
