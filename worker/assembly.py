"""Builds a turn for one conversation: each part of it gets what it uses, and no more."""

from contextlib import AbstractAsyncContextManager
from functools import partial

from runtime.settings import Account
from store.accounts.pacing import Slot
from store.turns.lease import Lease
from worker.admission import Admission
from worker.agent.agent import Budget
from worker.backfill.missed_answers import look_back
from worker.delivery.delivery import Delivery
from worker.delivery.refusals import CallFailures
from worker.delivery.sending import PartSender
from worker.delivery.settling import Settler
from worker.delivery.typing_indicator import typing
from worker.delivery.waiting import TurnScratchpad, Waiting
from worker.delivery.window import MessagingWindow
from worker.drafting import DraftWriter
from worker.services import Services
from worker.turn import Turn


def window_of(services: Services) -> MessagingWindow:
    return MessagingWindow(services.conversations, services.now_ms)


def turn_for(services: Services, lease: Lease, account: Account, scratchpad: TurnScratchpad) -> Turn:
    config, shift, window = services.settings.config, services.settings.shift_of(account), window_of(services)
    seconds = config.turn.budget_seconds
    waiting = Waiting(lease, window, scratchpad)
    return Turn(
        lease,
        admission=Admission(window=window, shift=shift, timezone=config.business.timezone, limits=config.limits),
        look_back=partial(look_back, services.reading, account=account) if shift.look_back else None,
        writer=_writer(services, account, scratchpad),
        delivery=_delivery(services, lease, account, window, waiting),
        waiting=waiting,
        telemetry=services.telemetry,
        media=services.media,
        budget=Budget(seconds, services.monotonic() + seconds),
        now_ms=services.now_ms,
        monotonic=services.monotonic,
    )


def _delivery(
    services: Services, lease: Lease, account: Account, window: MessagingWindow, waiting: Waiting
) -> Delivery:
    conversations, parking = services.conversations, services.parking
    graph, prompts = partial(services.graph, account), services.prompts(account)
    return Delivery(
        lease,
        sender=PartSender(lease, account, graph=graph, conversations=conversations, parking=parking),
        settler=Settler(services.reading, conversations, account),
        failures=CallFailures(account, window=window, parking=parking, outbox=services.outbox),
        window=window,
        waiting=waiting,
        limits=services.settings.config.limits,
        takeover_minutes=services.settings.shift_of(account).takeover_minutes,
        handoff_line=partial(prompts.line, "handoff"),
    )


def _writer(services: Services, account: Account, scratchpad: TurnScratchpad) -> DraftWriter:
    seen = services.settings.config.business.mark_seen

    async def may_call() -> bool:
        return isinstance(await services.pacing.take(account, "send", patience_seconds=0), Slot)

    def shown_typing(customer_id: str) -> AbstractAsyncContextManager[None]:
        return typing(services.graph(account), customer_id, seen=seen, may_call=may_call)

    return DraftWriter(
        services.settings.config,
        prompts=services.prompts(account),
        find_agent=partial(services.agent, account),
        media=services.media,
        telemetry=services.telemetry,
        typing=shown_typing,
        scratchpad=scratchpad,
        monotonic=services.monotonic,
    )
