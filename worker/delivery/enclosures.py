"""Sends what follows the words: pictures, files, a reaction. The reply is given by then, and nothing here changes that.

Each goes out at most once. After a doubt or a failure the rest is left: the customer has the answer, the conversation
is not held, nobody is alarmed.
"""

from bot.conversation import Conversation, PartState, Plan
from bot.messaging_window import WindowClosed
from clients.graph.errors import failure_of
from runtime.logging import get_logger
from store.accounts.pacing import Place
from store.accounts.parking import Parked
from worker.delivery.sending import PartSender
from worker.delivery.window import window_of
from worker.services import House

log = get_logger(__name__)


class Enclosing:
    def __init__(self, house: House, sender: PartSender) -> None:
        self._house = house
        self._sender = sender

    async def send(self, conversation: Conversation, plan: Plan) -> list[PartState]:
        """What is not sent yet, in order; the states in which all of them end. Raises `LeaseLost`."""
        states = [part.state for part in plan.enclosures]
        for number, part in enumerate(plan.enclosures):
            if part.state is PartState.SENT:
                continue
            if part.state in (PartState.UNKNOWN, PartState.DROPPED):
                break
            window = await window_of(self._house, conversation, now_ms=self._house.now_ms())
            if isinstance(window, WindowClosed):
                log.info("enclosures_left_out", conversation=conversation.id, reason="window_closed")
                break
            begun, failure = await self._sender.put(conversation, plan, part)
            if isinstance(begun, Place | Parked):
                why = begun.reason if isinstance(begun, Parked) else "pace"
                log.info("enclosures_left_out", conversation=conversation.id, reason=why)
                break
            if begun == "unconfirmed":
                log.info("enclosures_left_out", conversation=conversation.id, reason=begun)
                break
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
