"""Sends one part of a plan: the decision is written down before the call, the fact after it, in one piece."""

import asyncio

from bot.buttons import SEPARATOR
from bot.conversation import Conversation, Part, PartState, Plan
from bot.errors import NightshiftError
from clients.graph_api import GraphAPI
from clients.graph_errors import BadContent, failure_of
from runtime.conversations import Lease, LeaseLost
from runtime.inbox import METADATA_PREFIX
from runtime.logging import get_logger
from runtime.redis import StoreUnavailable
from runtime.settings import Account
from worker.house import House

log = get_logger(__name__)

SEND_MARGIN_SECONDS = 11.0  # a send may take this long (GraphAPI's limit and a little): it must end within the lease
USAGE_PERCENT = 90.0
USAGE_REST_SECONDS = 30.0


class PartSender:
    def __init__(self, house: House, lease: Lease, account: Account) -> None:
        self._house = house
        self._lease = lease
        self._account = account

    async def begin(self, plan: Plan, part: Part) -> str:
        """ "sending" when the call is to be made now, else the state that forbids it."""
        begun = await self._lease.begin_part(plan.id, part.index, margin_seconds=SEND_MARGIN_SECONDS)
        if begun == "late":
            await self._lease.renew()
            begun = await self._lease.begin_part(plan.id, part.index, margin_seconds=SEND_MARGIN_SECONDS)
        if begun == "late":
            raise LeaseLost("too little is left of it to send anything")
        return begun

    async def send(self, conversation: Conversation, plan: Plan, part: Part) -> NightshiftError | None:
        """Call Meta and record what it said, in one piece that is not cancelled between the two."""
        graph = self._house.graph(self._account)
        mid, failure = "", None
        try:
            mid = await self._call(graph, conversation, plan, part)
        except NightshiftError as exc:
            failure = exc
            log.warning(
                "send_failed", conversation=conversation.id, part=part.index, error=type(exc).__name__, reason=str(exc)
            )
        state, code = _state_of(failure)
        stands = await self._record(conversation, plan, part, state, mid=mid, code=code)
        if graph.usage_percent >= USAGE_PERCENT:
            graph.usage_percent = 0.0  # told once; the next answer tells again
            try:
                await self._house.parking.park(self._account, "usage", USAGE_REST_SECONDS, unless_parked=True)
            except StoreUnavailable as exc:
                log.warning("account_not_parked", reason=str(exc))
        return None if stands == PartState.SENT else failure

    async def _call(self, graph: GraphAPI, conversation: Conversation, plan: Plan, part: Part) -> str:
        """The last part carries what may be tapped; should Meta not take that, the words go without."""
        to, metadata = conversation.contact.customer_id, f"{METADATA_PREFIX}{plan.id}:{part.index}"
        is_last = part.index == len(plan.parts) - 1
        if is_last and (buttons := tuple(filter(None, plan.meta.buttons.split(SEPARATOR)))):
            try:
                return await graph.send_text(to, part.text, metadata=metadata, buttons=buttons)
            except BadContent as exc:
                log.warning("buttons_refused", conversation=conversation.id, reason=str(exc))
        return await graph.send_text(to, part.text, metadata=metadata)

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


def _state_of(failure: NightshiftError | None) -> tuple[PartState, str]:
    if failure is None:
        return PartState.SENT, ""
    if failure_of(failure).value == "unknown":
        return PartState.UNKNOWN, type(failure).__name__
    return PartState.FAILED, type(failure).__name__
