"""Gets to know the second id of accounts with Instagram Login; what came for it before that is not lost.

Only while such an id is unknown are entries for strangers kept. They are acknowledged, and received anew once they
turn out to be ours: after a worker has asked Meta, or after a restart with the id in the configuration.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from bot.errors import NightshiftError
from bot.incoming.events import Event, Noted
from bot.incoming.meta_values import as_list, as_text
from runtime.background import OVER, Count, Over, repeat
from runtime.clock import now_ms
from runtime.logging import get_logger
from store.accounts.ids import AccountIdStore
from store.outboxes.early_events import KEPT_SECONDS, MOST_BYTES, EarlyEvents
from webhooks.accounts import Accounts
from webhooks.endpoints import EventStore
from webhooks.forgotten import without_forgotten
from webhooks.payloads import parse_body
from webhooks.translate import MOST_EVENTS, translate

log = get_logger(__name__)

LOOK_SECONDS = 5.0
PAUSE_SECONDS = 1.0  # however many strangers write


class AccountIdDiscovery:
    def __init__(
        self,
        accounts: Accounts,
        *,
        ids: AccountIdStore,
        early: EarlyEvents,
        store: EventStore,
        look_seconds: float = LOOK_SECONDS,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._accounts = accounts
        self._ids = ids
        self._early = early
        self._store = store
        self._look_seconds = look_seconds
        self._clock_ms = clock_ms
        self._unknown_came = asyncio.Event()

    async def keep_unknown(self, body: bytes) -> None:
        """A stranger's entry is in `body`; raise `StoreUnavailable` when it could not be kept and may be ours."""
        if not self._accounts.awaits_ids:
            return
        records = _unknown_entries(body, self._accounts, self._clock_ms())
        if not records:
            return
        if dropped := await self._early.keep(*records):
            log.error("early_events_dropped", events=dropped)
        self._unknown_came.set()

    async def run(self, *, count: Count | None = None) -> None:
        """Until every id is known; Redis is asked every few seconds, and sooner after a stranger's message."""
        await repeat("account_ids", self._look, every_seconds=0, longest_wait_seconds=self._look_seconds, count=count)

    async def _look(self) -> Over | None:
        if not self._accounts.with_instagram_login:
            return OVER
        self._unknown_came.clear()
        self._accounts.learn(await self._ids.load())
        await self._receive_anew()
        if not self._accounts.awaits_ids:
            return OVER
        await asyncio.sleep(min(PAUSE_SECONDS, self._look_seconds))
        with suppress(TimeoutError):
            async with asyncio.timeout(max(self._look_seconds - PAUSE_SECONDS, 0)):
                await self._unknown_came.wait()
        return None

    async def _receive_anew(self) -> None:
        """One record that cannot be received holds up none of the others."""
        failure: Exception | None = None
        for record in await self._early.kept():
            try:
                await self._receive_record(record)
            except NightshiftError:
                raise
            except Exception as exc:  # noqa: BLE001 - raised again once the others have had their turn
                failure = exc
        if failure is not None:
            raise failure

    async def _receive_record(self, record: str) -> None:
        kept = json.loads(record)
        events = translate(kept["payload"], self._accounts, kept["at"])
        if any(_is_unknown(event) for event in events):
            if kept["at"] < self._clock_ms() - KEPT_SECONDS * 1000:
                await self._early.drop(record)
            return
        await self._store.receive(without_forgotten(events, kept["at"]))
        await self._early.drop(record)
        log.info("early_event_received", events=len(events))


def _unknown_entries(body: bytes, accounts: Accounts, at_ms: int) -> list[str]:
    """A record for each entry that is no account's of ours."""
    records: list[str] = []
    for entry in islice(_entries(parse_body(body)), MOST_EVENTS):
        alone: dict[str, Any] = {"object": "instagram", "entry": [entry]}
        if any(_is_unknown(event) for event in translate(alone, accounts, at_ms)):
            record = json.dumps({"at": at_ms, "payload": alone}, separators=(",", ":"))
            if len(record) <= MOST_BYTES:
                records.append(record)
            else:
                log.error("early_event_too_large", size_bytes=len(record))
    return records


def _entries(payload: object) -> Iterator[object]:
    for part in payload if isinstance(payload, list) else [payload]:
        if isinstance(part, dict) and as_text(part.get("object")) == "instagram":
            yield from as_list(part.get("entry"))


def _is_unknown(event: Event) -> bool:
    return isinstance(event, Noted) and event.kind == "unknown_account"
