"""The worker's side of Redis: claim a conversation, and record the facts about what was sent.

What the claimer may then decide is its lease's (store/turns/lease.py). Facts need none.
"""

import secrets
from dataclasses import dataclass

from bot.conversation import Conversation, PartState
from runtime.logging import get_logger
from runtime.settings import Settings
from store.accounts.parking import token_mark
from store.hashing import key_of
from store.keys import CLOCK_AHEAD, EVENTS, conversation_key
from store.limits import HISTORY_LINES
from store.scripts import Scripts
from store.turns.decisions import ClaimRefusal, NotClaimed
from store.turns.lease import LEASE_SECONDS, Lease
from store.turns.plans import part_state_of
from store.turns.views import View, view_of

log = get_logger(__name__)

# So long no process may have had an account before what came for it is given up: more than any update takes.
ACCOUNT_MISSING_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Claimed:
    """The lease, and all that the turn needs to know; nothing of `view` is parsed yet."""

    lease: Lease
    view: View

    @property
    def conversation(self) -> Conversation:
        """Raise `ConversationUnreadable`."""
        return self.view.read()


class Conversations:
    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        debounce = settings.config.debounce
        self._quiet_ms = round(debounce.quiet_seconds * 1000)
        self._cap_ms = round(debounce.max_wait_seconds * 1000)
        self._marks = {(a.channel.value, a.id): token_mark(a) for a in settings.config.accounts}

    async def claim(self, conversation_id: str) -> Claimed | NotClaimed:
        token = secrets.token_hex(8)
        answer = await self._scripts.run("claim", conversation_id, token, LEASE_SECONDS * 1000, HISTORY_LINES)
        if answer[0] != "claimed":
            return NotClaimed(ClaimRefusal(answer[0]))
        self._scripts.clock.tells(int(answer[1]))
        view = view_of(conversation_id, answer, self._marks)
        return Claimed(Lease(self._scripts, view, token, quiet_ms=self._quiet_ms, cap_ms=self._cap_ms), view)

    async def clock_ahead_ms(self) -> int:
        """By how much the server's clock may be ahead of the true time (store/server/clock_watch.py); most often 0."""
        return int(await self._scripts.command("GET", CLOCK_AHEAD) or 0)

    async def customer_of(self, conversation_id: str) -> str:
        """The scoped id behind a conversation; "" when it is not kept any more."""
        return str(await self._scripts.command("HGET", conversation_key(conversation_id), "customer") or "")

    async def knows_as_sent(self, conversation_id: str, mid: str) -> bool:
        """Is this message id in the books as sent from our side, by the bot or by a human?"""
        words = await self._scripts.run("known", conversation_id, "", "", key_of("echo", mid), "")
        return str(words[0]) != ""

    async def record(
        self,
        conversation_id: str,
        plan_id: str,
        part: int,
        state: PartState,
        *,
        mid: str = "",
        code: str = "",
        misses: int = 0,
        failed_looks: int = 0,
    ) -> PartState | None:
        """A fact: it needs no lease, and a message id once known is never taken back. The state that stands now; None
        when the plan is gone.

        Where replicas are asked for, that a part is sent waits for them but does not depend on them: a failover that
        forgot it would find the part `sending`, and look whether it arrived.
        """
        key = key_of("echo", mid) if mid else ""
        values = (conversation_id, plan_id, part, state.value, key, code, misses, failed_looks)
        if state is not PartState.SENT:
            return _standing(await self._scripts.run("record_part", *values))
        stands, doubt = await self._scripts.run_doubted("record_part", *values)
        if reason := await doubt:
            log.warning("fact_not_confirmed", conversation=conversation_id, part=part, reason=reason)
            await self._scripts.command("HINCRBY", EVENTS, "sent_unconfirmed", 1)
        return _standing(stands)


def _standing(answer: str) -> PartState | None:
    return None if answer == "gone" else part_state_of(answer)
