"""POST /webhooks/meta: stores what Meta sends before it says yes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.types import Receive, Scope, Send

from bot.incoming.events import Event, Noted, PolicyEnforcement
from monitoring.deafness import Hearing
from runtime.clock import monotonic, now_ms
from runtime.logging import get_logger
from store.connection import StoreUnavailable
from webhooks.accounts import Accounts
from webhooks.answers import (
    FORBIDDEN,
    FORBIDDEN_UNREAD,
    MEMORY_FULL,
    RECEIVED,
    TOO_LARGE,
    TOO_SLOW,
    UNAVAILABLE,
    Answer,
)
from webhooks.body import BodyMemory, BodyMemoryFull, BodyTooLarge, BodyTooSlow, ClientGone, read_body
from webhooks.forgotten import FORGOTTEN, has_forgotten, without_forgotten
from webhooks.guards.budget import Budget
from webhooks.guards.patience import Patience
from webhooks.guards.proof import NotSigned, Proof, TooMuchUnsigned
from webhooks.guards.throttle import Throttle
from webhooks.payloads import BodyUnreadable, parse_body
from webhooks.signature import parse_signature
from webhooks.status.metrics import ReceiverMetrics
from webhooks.translate import translate

log = get_logger(__name__)

_LOG_AGAIN_SECONDS = 30.0
# Signed and accepted, but the log says it: the operator may want to know.
_WORTH_A_LINE = frozenset(
    {
        "unparsable",
        "unknown_object",
        "unknown_account",
        "unknown_change",
        "unknown",
        "changed_fields",
        "no_customer",
        "surplus",
        "test_event",
        FORGOTTEN,
    }
)


# Where all that comes is like this, no customer is heard: a setting in Meta's dashboard, or a format that has changed.
_SAYS_NOTHING = frozenset({"unparsable", "unknown_object", "changed_fields", "no_customer", "surplus"})
_METAS_AGENT = b"facebookexternalua"


class EventStore(Protocol):
    async def receive(self, events: Sequence[Event]) -> None:
        """Return when all of `events` are stored; raise `StoreUnavailable` when they are not."""
        ...

    async def server_ms(self) -> int:
        """What time the store has; raise `StoreUnavailable` when it cannot be asked."""
        ...


class UnknownAccountEntries(Protocol):
    async def keep_unknown(self, body: bytes) -> None:
        """Look at a body with an account that is not ours; raise `StoreUnavailable` as the store does."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """`body_bytes`: a legal batch of 1000 can reach 3 MiB. `all_bodies_bytes`: what all bodies take together that are
    unfinished or unproven.

    `store_seconds`: Meta waits 5 s, and must hear a no in time. Bodies over `inline_bytes` are parsed in a thread, so
    that they do not hold up the small ones.
    """

    body_bytes: int = 8 * 1024 * 1024
    all_bodies_bytes: int = 64 * 1024 * 1024
    body_seconds: float = 10.0
    store_seconds: float = 1.5
    inline_bytes: int = 256 * 1024


class WebhookEndpoint:
    """A bare ASGI application: it is the one hot route, and a framework costs more than all it does."""

    def __init__(
        self,
        *,
        secrets: Sequence[str],
        accounts: Accounts,
        store: EventStore,
        metrics: ReceiverMetrics,
        budget: Budget,
        hearing: Hearing,
        discovery: UnknownAccountEntries | None = None,
        limits: Limits | None = None,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._proof = Proof([_bytes(secret) for secret in secrets if secret], budget) if any(secrets) else None
        self._accounts = accounts
        self._store = store
        self._discovery = discovery
        self._metrics = metrics
        self._hearing = hearing
        self._limits = limits or Limits()
        self._body_patience = Patience(self._limits.body_seconds)
        self._store_patience = Patience(self._limits.store_seconds)
        self._memory = BodyMemory(self._limits.all_bodies_bytes)
        self._clock_ms = clock_ms
        self._knows_the_time = False
        self._throttle = Throttle(_LOG_AGAIN_SECONDS, monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = monotonic()
        try:
            answer = await self._answer(scope, receive)
        except ClientGone:
            self._metrics.posted("client_gone", monotonic() - started)
            return
        self._metrics.posted(answer.status, monotonic() - started)
        await answer.send(send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        digest = parse_signature(headers.get(b"x-hub-signature-256"))
        if digest is None:  # and so it is not worth reading
            if _calls_itself_meta(headers):  # a proxy may have taken the signature away
                self._hearing.signed.missed()
            return self._refuse(FORBIDDEN_UNREAD, "signature missing or malformed")
        if self._proof is None:
            self._hearing.signed.missed()
            return self._refuse(FORBIDDEN_UNREAD, "META_APP_SECRETS is missing")
        held = 0
        try:
            body, held = await read_body(
                receive, headers, limit_bytes=self._limits.body_bytes, patience=self._body_patience, memory=self._memory
            )
            if not self._proof.is_plain(body, digest) and not await self._proof.check(body, digest):
                self._warn("webhook_body_rewritten", reason="a proxy decodes what Meta has sent: it must not change it")
        except BodyTooLarge:
            return self._refuse(TOO_LARGE, "body too large")
        except BodyTooSlow:
            return self._refuse(TOO_SLOW, "body too slow")
        except BodyMemoryFull:
            return self._refuse(MEMORY_FULL, "too many unfinished bodies")
        except NotSigned:
            self._hearing.signed.missed()
            return self._refuse(FORBIDDEN, "signature does not match")
        except TooMuchUnsigned:
            return self._refuse(UNAVAILABLE, "too much that is not signed")
        finally:
            self._memory.give_back(held)
        self._hearing.signed.heard()
        knows_the_time = self._knows_the_time or await self._ask_the_time()
        received_ms = self._clock_ms()
        if len(body) <= self._limits.inline_bytes:
            events = self._events(body, received_ms)
        else:
            events = await asyncio.to_thread(self._events, body, received_ms)
        if events and not knows_the_time:
            return UNAVAILABLE
        return await self._stored(events, body, received_ms)

    async def _ask_the_time(self) -> bool:
        """Once in a process: until the store has told its time, this machine's clock would date what is written."""
        try:
            with self._store_patience.for_one():
                await self._store.server_ms()
        except (StoreUnavailable, TimeoutError) as exc:
            self._warn("webhook_not_stored", reason=type(exc).__name__)
            return False
        except Exception:
            log.exception("time_unknown")
            return False
        self._knows_the_time = True
        return True

    def _events(self, body: bytes, received_ms: int) -> list[Event]:
        """What is signed is never refused for what it says: Meta would only send the same again, and then give up."""
        try:
            return translate(parse_body(body), self._accounts, received_ms)
        except BodyUnreadable:
            return [Noted("unparsable")]
        except Exception:
            log.exception("webhook_body_untranslated", size_bytes=len(body))
            return [Noted("unparsable")]

    async def _stored(self, events: list[Event], body: bytes, received_ms: int) -> Answer:
        if not events:
            return RECEIVED
        for event in events:
            if not isinstance(event, Noted) or event.kind not in _SAYS_NOTHING:
                self._hearing.understood.heard()
                break
        else:
            self._hearing.understood.missed()
        try:
            with self._store_patience.for_one():
                if has_forgotten(events, received_ms):
                    events = await self._without_forgotten(events)
                has_unknown = self._tell(events)
                if has_unknown and self._discovery is not None:
                    await self._discovery.keep_unknown(body)
                await self._store.receive(events)
        except (StoreUnavailable, TimeoutError) as exc:
            self._warn("webhook_not_stored", reason=type(exc).__name__)
            return UNAVAILABLE
        except Exception:
            # Whatever it was, nothing is acknowledged that is not stored.
            log.exception("webhook_not_stored", events=len(events))
            return UNAVAILABLE
        self._metrics.translated(events)
        return RECEIVED

    async def _without_forgotten(self, events: list[Event]) -> list[Event]:
        """By Redis's clock too: no customer is refused because one of the two is wrong."""
        server_ms = await self._store.server_ms()
        if not has_forgotten(events, server_ms):
            self._warn("clocks_differ", reason="not too old by the time that certainly has come")
        return without_forgotten(events, server_ms)

    def _tell(self, events: list[Event]) -> bool:
        """Log what the operator may want to know; True when an account among them is none of ours."""
        has_unknown = False
        for event in events:
            if isinstance(event, PolicyEnforcement):
                log.error("policy_enforcement", account_id=event.account_id, action=event.action[:20])
            elif isinstance(event, Noted) and event.kind in _WORTH_A_LINE:
                self._warn("webhook_event_noted", reason=event.kind, account_id=event.account_id)
                has_unknown = has_unknown or event.kind == "unknown_account"
        return has_unknown

    def _refuse(self, answer: Answer, reason: str) -> Answer:
        self._metrics.refused(reason)
        self._warn("webhook_refused", reason=reason)
        return answer

    def _warn(self, event: str, *, reason: str, account_id: str = "") -> None:
        held_back = self._throttle.passes((event, reason, account_id))
        if held_back is not None:
            log.warning(event, reason=reason, account_id=account_id, held_back=held_back)


def _calls_itself_meta(headers: Mapping[bytes, bytes]) -> bool:
    return headers.get(b"user-agent", b"").startswith(_METAS_AGENT)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
