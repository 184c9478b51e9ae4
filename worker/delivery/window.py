"""Is the messaging window closed? A clock that has jumped ahead must not say so alone: it would expire everybody."""

from bot.conversation import Conversation
from bot.messaging_window import MayWrite, WindowClosed, may_write
from runtime.logging import get_logger
from store.conversations import Incident
from worker.alerts.incidents import window_closing
from worker.services import House

log = get_logger(__name__)


async def window_of(house: House, conversation: Conversation, *, now_ms: int) -> MayWrite | WindowClosed:
    """As `may_write`. While the clock is in doubt, what it alone has closed is open: Meta will refuse what is late."""
    window = may_write(last_action_at_ms=conversation.last_action_at_ms, now_ms=now_ms)
    if isinstance(window, MayWrite):
        return window
    return may_write(last_action_at_ms=conversation.last_action_at_ms, now_ms=await sober_now_ms(house, now_ms))


async def warning_of(house: House, conversation: Conversation) -> Incident | None:
    """What the managers are told where a conversation goes on waiting while its window closes, by the same time as
    decides whether it is closed; None when it is not so far, or told already."""
    return window_closing(conversation, await window_of(house, conversation, now_ms=conversation.now_ms))


async def sober_now_ms(house: House, now_ms: int) -> int:
    """The latest time that is beyond doubt."""
    ahead_ms = await house.conversations.clock_ahead_ms()
    if ahead_ms:
        log.warning("clock_in_doubt", ahead_seconds=round(ahead_ms / 1000))
    return now_ms - ahead_ms
