"""Sends what follows the words: pictures, files, a reaction. The reply is given by then, and nothing here changes that.

Each goes out at most once. After a doubt or a failure the rest is left: the customer has the answer, the conversation
is not held, nobody is alarmed.
"""

import asyncio

from bot.conversation import Conversation, PartState, Plan
from bot.delivery import WindowClosed, may_write
from clients.graph_errors import failure_of
from runtime.logging import get_logger
from runtime.parking import Parked
from runtime.settings import Account
from worker.house import House
from worker.sending import PartSender

log = get_logger(__name__)

LINE_SECONDS = 2.0  # a longer line is for words


class Enclosing:
    def __init__(self, house: House, account: Account, sender: PartSender) -> None:
        self._house = house
        self._account = account
        self._sender = sender

    async def send(self, conversation: Conversation, plan: Plan) -> list[PartState]:
        """What is not sent yet, in order; the states in which all of them end. Raises `LeaseLost`."""
        states = [part.state for part in plan.enclosures]
        for number, part in enumerate(plan.enclosures):
            if part.state is PartState.SENT:
                continue
            if part.state in (PartState.UNKNOWN, PartState.DROPPED):
                break
            if why_not := await self._must_not_send(conversation):
                log.info("enclosures_left_out", conversation=conversation.id, reason=why_not)
                break
            begun, failure = await self._sender.put(conversation, plan, part)
            if begun == PartState.SENDING:
                states[number] = PartState.SENT
                if failure is not None:
                    is_unknown = failure_of(failure).value == "unknown"
                    states[number] = PartState.UNKNOWN if is_unknown else PartState.FAILED
            elif begun in (PartState.SENT, PartState.UNKNOWN, PartState.DROPPED):
                states[number] = PartState(begun)
            if states[number] is not PartState.SENT:
                break
        return states

    async def _must_not_send(self, conversation: Conversation) -> str:
        window = may_write(last_action_at_ms=conversation.last_action_at_ms, now_ms=self._house.now_ms())
        if isinstance(window, WindowClosed):
            return "window_closed"
        place = await self._house.pacing.take(self._account, "send", patience_seconds=LINE_SECONDS)
        if isinstance(place, Parked):
            return place.reason
        if not place.taken:
            return "pace"
        await asyncio.sleep(place.seconds)
        return ""
