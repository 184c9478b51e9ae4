"""Gives a conversation back for a time, with what the turn has looked up so far."""

from bot.conversation import Conversation
from store.turns.lease import Lease
from store.turns.scratchpad import EMPTY_SCRATCHPAD, Scratchpad
from worker.delivery.steps import Wait
from worker.delivery.window import MessagingWindow
from worker.turn_end import Waits


class TurnScratchpad:
    """What one turn has looked up, for the one who gives its lease back."""

    def __init__(self) -> None:
        self.kept: Scratchpad = EMPTY_SCRATCHPAD

    def note(self, text: str, *, revised: str) -> None:
        self.kept = Scratchpad(text, revised)

    def read(self, conversation: Conversation) -> str:
        """For the words as they are now: this turn's own, or what an earlier one has left."""
        return (self.kept.text if self.kept.revised == conversation.revised else "") or conversation.scratchpad


class Waiting:
    def __init__(self, lease: Lease, window: MessagingWindow, scratchpad: TurnScratchpad) -> None:
        self._lease = lease
        self._window = window
        self._scratchpad = scratchpad

    async def wait(self, conversation: Conversation, step: Wait) -> Waits:
        closing = await self._window.warning(conversation) if step.warns else None
        await self._lease.hold(
            step.seconds,
            step.deferral,
            drop_plan=step.drops_plan,
            window_closing=closing,
            scratchpad=self._scratchpad.kept,
        )
        return Waits(step.reason)
