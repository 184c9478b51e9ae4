"""Claims a conversation and runs its turn under a lease that is renewed; the lease is given back whatever happens."""

from bot.conversation import VANISHED_BEFORE_ALONE
from runtime.logging import get_logger
from store.turns.conversations import Claimed
from store.turns.decisions import NotClaimed
from store.turns.views import ConversationUnreadable
from worker.assembly import turn_for, window_of
from worker.delivery.waiting import TurnScratchpad
from worker.drafting import FAILED_TURNS_BEFORE_HANDOVER
from worker.last_resort import LastResort
from worker.lease_keeper import keep_lease
from worker.services import Services
from worker.turn_end import TurnEnd

log = get_logger(__name__)

# Three for the answer, three for telling that there is none, three for closing what could not be told.
FAILED_TURNS_BEFORE_THE_END = 9


async def take_turn(services: Services, conversation_id: str) -> TurnEnd | NotClaimed:
    claimed = await services.conversations.claim(conversation_id)
    if isinstance(claimed, NotClaimed):
        return claimed
    scratchpad = TurnScratchpad()
    return await keep_lease(
        claimed.lease,
        lambda: _turn(services, claimed, scratchpad),
        scratchpad=scratchpad,
        failures=claimed.view.failures,
        budget_seconds=services.settings.config.turn.budget_seconds,
        monotonic=services.monotonic,
    )


async def _turn(services: Services, claimed: Claimed, scratchpad: TurnScratchpad) -> TurnEnd:
    lease, view = claimed.lease, claimed.view
    last_resort = LastResort(lease, window_of(services), services.now_ms)
    # Nothing is parsed before this: what cannot be read counts like any other failed turn.
    if view.failed_turns >= FAILED_TURNS_BEFORE_THE_END:
        return await last_resort.abandon(view, "turns_failed")
    try:
        conversation = claimed.conversation
    except ConversationUnreadable:
        return await _get_on_without(claimed, last_resort)
    # Within the lease: a turn that waits for one that runs alone must not lose its own.
    async with services.gate.enter(alone=view.vanished >= VANISHED_BEFORE_ALONE):
        account = services.settings.account(conversation.contact.channel, conversation.contact.account_id)
        if account is None or not account.token.get_secret_value():
            return await last_resort.wait_for_account(conversation, is_known=account is not None)
        return await turn_for(services, lease, account, scratchpad).run(conversation)


async def _get_on_without(claimed: Claimed, last_resort: LastResort) -> TurnEnd:
    """Raise `ConversationUnreadable` as long as another try may help."""
    if claimed.view.failed_turns >= FAILED_TURNS_BEFORE_HANDOVER:
        return await last_resort.abandon(claimed.view, "unreadable")
    whose = claimed.view.whose()
    if whose.is_known:
        raise ConversationUnreadable("though it is known whose it is")
    return await last_resort.wait_for_newer_version(claimed.view, whose)
