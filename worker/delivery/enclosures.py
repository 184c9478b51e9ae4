"""Sends what follows the words: pictures, files, a reaction. The reply is given by then, and nothing here changes that.

Each goes out at most once. After a doubt or a failure the rest is left: the customer has the answer, the conversation
is not held, no manager is alarmed.
"""

from typing import assert_never

from bot.conversation import PartState
from bot.retry import Failure
from clients.graph.errors import failure_of
from runtime.logging import get_logger
from store.accounts.pacing import NoSlot
from store.accounts.parking import Parked
from store.turns.decisions import AlreadyIn, Overtaken, SendRefusal, Unconfirmed
from worker.delivery.progress import Progress
from worker.delivery.sending import Arrived, NotArrived, PartSender
from worker.delivery.window import MessagingWindow

log = get_logger(__name__)


async def send_enclosures(progress: Progress, sender: PartSender, window: MessagingWindow) -> None:
    """What is not sent yet, in order; `progress` knows then in which states they end. Raise `LeaseLost`."""
    conversation, plan = progress.conversation, progress.plan
    for number, part in enumerate(plan.enclosures):
        if part.state is PartState.SENT:
            continue
        if part.state in (PartState.UNKNOWN, PartState.DROPPED):
            return
        if await window.is_closed(conversation):
            log.info("enclosures_left_out", conversation=conversation.id, reason="window_closed")
            return
        match await sender.put(conversation.contact.customer_id, plan.id, part):
            case Arrived():
                progress.enclosed[number] = PartState.SENT
            case NotArrived(failure):
                is_unknown = failure_of(failure) is Failure.UNKNOWN
                progress.enclosed[number] = PartState.UNKNOWN if is_unknown else PartState.FAILED
                return
            case AlreadyIn(PartState.SENT | PartState.UNKNOWN | PartState.DROPPED as state):
                progress.enclosed[number] = state
                if state is not PartState.SENT:
                    return
            case refusal:
                log.info("enclosures_left_out", conversation=conversation.id, reason=_why(refusal))
                return


def _why(refusal: SendRefusal) -> str:
    match refusal:
        case Parked(reason):
            return reason
        case NoSlot():
            return "pace"
        case Unconfirmed():
            return "unconfirmed"
        case Overtaken():
            return "gone"
        case AlreadyIn(state):
            return state.value
        case _:
            assert_never(refusal)
