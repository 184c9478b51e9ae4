"""Is the messaging window closed? A clock that has jumped ahead must not say so alone: it would expire everybody."""

from collections.abc import Callable

from bot.conversation import Conversation
from bot.messaging_window import MayWrite, WindowClosed, may_write
from runtime.logging import get_logger
from store.turns.conversations import Conversations
from store.turns.lease import Incident
from worker.alerts.incidents import window_closing

log = get_logger(__name__)


class MessagingWindow:
    def __init__(self, conversations: Conversations, now_ms: Callable[[], int]) -> None:
        self._conversations = conversations
        self._now_ms = now_ms

    async def at(self, now_ms: int, conversation: Conversation) -> MayWrite | WindowClosed:
        """As `may_write`. While the clock is in doubt, what it alone has closed is open: Meta refuses what is late."""
        acted_ms = conversation.last_action_at_ms
        window = may_write(last_action_at_ms=acted_ms, now_ms=now_ms)
        if isinstance(window, MayWrite):
            return window
        return may_write(last_action_at_ms=acted_ms, now_ms=await self.sober_ms(now_ms))

    async def is_closed(self, conversation: Conversation) -> bool:
        """By now: thinking takes time, and a plan may have waited for hours."""
        return isinstance(await self.at(self._now_ms(), conversation), WindowClosed)

    async def warning(self, conversation: Conversation) -> Incident | None:
        """What the managers are told where a conversation goes on waiting while its window closes, by the same time as
        decides whether it is closed; None when it is not so far, or told already."""
        return window_closing(conversation, await self.at(conversation.now_ms, conversation))

    async def sober_ms(self, now_ms: int) -> int:
        """The latest time that is beyond doubt."""
        ahead_ms = await self._conversations.clock_ahead_ms()
        if ahead_ms:
            log.warning("clock_in_doubt", ahead_seconds=round(ahead_ms / 1000))
        return now_ms - ahead_ms
