"""Before any model is paid: may this conversation be answered now?"""

from dataclasses import dataclass

from bot.conversation import Conversation
from bot.incoming.intents import Intent, intent_of
from bot.limits import Silent
from bot.messaging_window import WindowClosed
from bot.outcome import Deferral, Outcome, SilenceReason
from bot.shift import Deferred, OnDuty, who_is_on_duty
from runtime.clock import local
from runtime.config import CustomerLimits, Shift
from store.accounts.parking import LOOK_AGAIN_SECONDS
from worker.delivery.steps import PARKED, Wait
from worker.delivery.window import MessagingWindow
from worker.limits import limit_of


@dataclass(frozen=True, slots=True)
class CloseUnsaid:
    """Its messages end as `outcome` with nothing said; managers are told of it where `alerts`."""

    outcome: Outcome
    why: str
    alerts: bool = False


@dataclass(frozen=True, slots=True)
class MayAnswer:
    """Nothing stands against it."""


class Admission:
    """For the conversations of one account."""

    def __init__(self, *, window: MessagingWindow, shift: Shift, timezone: str, limits: CustomerLimits) -> None:
        self._window = window
        self._shift = shift
        self._timezone = timezone
        self._limits = limits

    async def decide(self, conversation: Conversation) -> MayAnswer | Wait | CloseUnsaid:
        if conversation.opted_out and intent_of([m.text for m in conversation.messages]) is Intent.OPT_OUT:
            return CloseUnsaid(Outcome.SILENCED, SilenceReason.OPTED_OUT)
        if isinstance(await self._window.at(conversation.now_ms, conversation), WindowClosed):
            return CloseUnsaid(Outcome.EXPIRED, "window_closed", alerts=True)
        duty = self._who_is_on_duty(conversation)
        if isinstance(duty, Deferred):
            seconds = max(duty.at.timestamp() - conversation.now_ms / 1000, 0.0)
            return Wait(seconds, duty.reason, duty.reason, warns=True, drops_plan=True)
        if conversation.parked:
            seconds = min(conversation.parked_ms / 1000, LOOK_AGAIN_SECONDS) + 0.5
            return Wait(seconds, PARKED, conversation.parked, warns=True, drops_plan=True)
        if isinstance(limit_of(conversation, self._limits), Silent):
            return CloseUnsaid(Outcome.SILENCED, SilenceReason.FLOOD)
        return MayAnswer()

    def _who_is_on_duty(self, conversation: Conversation) -> OnDuty | Deferred:
        if conversation.takeover_until_ms > conversation.now_ms:  # looked at early, for the window's sake
            return Deferred(local(conversation.takeover_until_ms, self._timezone), Deferral.HUMAN)
        return who_is_on_duty(
            self._shift.mode,
            hours=self._shift.hours,
            now=local(conversation.now_ms, self._timezone),
            oldest_open_at=local(conversation.oldest_received_ms, self._timezone),
            humans_first_minutes=self._shift.humans_first_minutes,
        )
