"""Before a model is paid: has a manager answered in the app, and Meta sent no echo of it (meta.md 5.7)?"""

import asyncio
from typing import Final

from bot.conversation import Conversation
from bot.incoming.backfill import SECOND_MS, ReadBack
from bot.incoming.reconciliation import is_automatic
from clients.graph.errors import GraphAPIError
from runtime.logging import get_logger
from runtime.settings import Account
from store.incoming.known_messages import Known
from worker.backfill.reading import MustNotRead, Reading

log = get_logger(__name__)

NEWEST: Final = 10
LOOK_SECONDS: Final = 3.0  # the customer waits meanwhile
FOUND: Final = "look_back"


async def look_back(reading: Reading, conversation: Conversation, account: Account) -> bool:
    """True when words of our side that no webhook has brought were handed to the inbox: whose they are is decided
    there, and the turn has to look whether it may go on. A look that fails, or would have to wait, changes nothing."""
    found: list[ReadBack] = []
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await _look(reading, conversation, account, found)
    except MustNotRead as wait:
        log.debug("not_looked_back", conversation=conversation.id, reason=f"the next slot is {wait.seconds:.1f} s away")
    except (GraphAPIError, TimeoutError) as exc:
        log.info("not_looked_back", conversation=conversation.id, reason=f"{type(exc).__name__}: {exc}")
    if not found:
        return False
    now_ms = reading.now_ms()
    await reading.receive(message.event(conversation.contact, now_ms=now_ms, found=FOUND) for message in found[::-1])
    log.info("looked_back", conversation=conversation.id, found=len(found))
    return True


async def _look(reading: Reading, conversation: Conversation, account: Account, found: list[ReadBack]) -> None:
    """Put into `found` what our side has written since the oldest open message, the newest first."""
    await reading.wait_for_slot(account, patience_seconds=0)
    customer_id = conversation.contact.customer_id
    thread = await reading.of(account).thread_with(customer_id, now_ms=reading.now_ms(), limit=NEWEST)
    if thread is None:
        return
    said_ms = [message.at_ms for message in conversation.messages]
    since_ms = min(said_ms) // SECOND_MS * SECOND_MS
    automatic_ms = round(reading.settings.shift_of(account).ignore_auto_replies_seconds * 1000)
    recent = [message for message in thread.messages if message.created_at_ms >= since_ms]
    known = await reading.known(conversation.id, recent)
    for message, word in zip(recent, known, strict=True):
        if word is not Known.NOT:
            continue
        whole: ReadBack | None = message
        if message.is_bare:
            await reading.wait_for_slot(account, patience_seconds=LOOK_SECONDS)  # who has begun may end
            whole = await reading.whole(account, message)
        is_ours = whole is not None and whole.from_id != customer_id
        if whole and is_ours and not is_automatic(whole, said_ms, within_ms=automatic_ms):
            found.append(whole)
