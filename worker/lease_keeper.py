"""Runs a turn while its lease lives: renews it, stops the turn that lost it, gives it back when the process stops."""

import asyncio
from collections.abc import Awaitable, Callable

from bot.errors import NightshiftError
from bot.outcome import Deferral
from runtime.cancelling import cancel_and_wait
from runtime.logging import get_logger
from runtime.sentry import capture
from store.connection import StoreUnavailable
from store.turns.lease import LEASE_SECONDS, RENEW_SECONDS, Lease, LeaseLost
from worker.delivery.waiting import TurnScratchpad
from worker.turn_end import Failed, Lost, TurnEnd

log = get_logger(__name__)

# The budget covers thinking; sending many parts may take longer. Past this the turn hangs, and its lease must not.
BEYOND_BUDGET_SECONDS = 60.0
FAILED_TURN_BACKOFF_SECONDS = (1.0, 5.0, 15.0, 60.0)


class TurnStuck(NightshiftError):
    """The turn ran on and on; it is stopped and counts as failed."""


async def keep_lease(
    lease: Lease,
    turn: Callable[[], Awaitable[TurnEnd]],
    *,
    scratchpad: TurnScratchpad,
    failures: int,
    budget_seconds: float,
    monotonic: Callable[[], float],
) -> TurnEnd:
    """The turn's own end, `Lost` or `Failed`. Cancelling it means: the process stops.

    `failures` is how many turns of this conversation have failed before; `scratchpad` is kept where the lease is given
    back before the turn's own end.
    """
    body = asyncio.ensure_future(turn())
    keeper = asyncio.create_task(_renew(lease, monotonic))
    try:
        # Twice: it may have waited for a turn that runs alone before its own time began.
        limit = 2 * (budget_seconds + BEYOND_BUDGET_SECONDS)
        await asyncio.wait({body, keeper}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if body.done():
            return body.result()
        # What is being sent is recorded first, nothing else is done.
        await _stop(body)
        if keeper.done():
            if (error := keeper.exception()) is not None:
                log.error("lease_keeper_failed", conversation=lease.conversation_id, error=type(error).__name__)
            return Lost()
        raise TurnStuck  # noqa: TRY301 - handled below like any other failed turn
    except asyncio.CancelledError:
        await _stop(body)
        await _give_back(lease, scratchpad)
        raise
    except LeaseLost:
        return Lost()
    except StoreUnavailable as exc:
        # The lease runs out by itself and the conversation is due again: Redis, which would have to be told, is away.
        log.error("turn_without_store", conversation=lease.conversation_id, reason=str(exc))
        return Failed("store")
    except Exception as exc:
        log.exception("turn_failed", conversation=lease.conversation_id, error=type(exc).__name__)
        capture(exc)
        wait = FAILED_TURN_BACKOFF_SECONDS[min(failures, len(FAILED_TURN_BACKOFF_SECONDS) - 1)]
        try:
            await lease.hold(wait, Deferral.BACKOFF, failed=True, scratchpad=scratchpad.kept)
        except (LeaseLost, StoreUnavailable) as lost:
            log.warning("lease_not_returned", conversation=lease.conversation_id, reason=type(lost).__name__)
        return Failed(type(exc).__name__)
    finally:
        keeper.cancel()


async def _renew(lease: Lease, monotonic: Callable[[], float]) -> None:
    """Returns when the lease is lost, or may be: the server could not be asked for as long as it lasts."""
    renewed_at = monotonic()
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            if not await lease.renew():
                return
            renewed_at = monotonic()
        except Exception as exc:  # noqa: BLE001 - the turn need not stop for it while the lease lasts
            reason = str(exc) if isinstance(exc, NightshiftError) else ""
            log.warning(
                "lease_not_renewed", conversation=lease.conversation_id, error=type(exc).__name__, reason=reason
            )
            if monotonic() - renewed_at > LEASE_SECONDS - RENEW_SECONDS:
                return


async def _stop(body: "asyncio.Future[TurnEnd]") -> None:
    """Cancel and wait: a send that is on its way is shielded and recorded first."""
    await cancel_and_wait(body)
    if not body.cancelled() and (error := body.exception()) is not None and not isinstance(error, LeaseLost):
        log.warning("stopped_turn_failed", error=type(error).__name__)


async def _give_back(lease: Lease, scratchpad: TurnScratchpad) -> None:
    try:
        await lease.hold(0, "released", scratchpad=scratchpad.kept)
    except (LeaseLost, StoreUnavailable) as exc:
        log.warning("lease_not_returned", conversation=lease.conversation_id, reason=type(exc).__name__)
