"""The receiver's side of Redis: one round trip stores a whole POST, and says how the house is doing."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from bot.alerts.alert import Alert
from bot.incoming.comments import wants_private_reply
from bot.incoming.events import (
    Channel,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    Noted,
    PolicyEnforcement,
    ThreadControl,
    UnreadMessage,
    conversation_id,
)
from bot.incoming.meta_values import is_invisible
from bot.retry import RESTRICTED_SECONDS
from runtime.clock import utc_day
from runtime.settings import Settings
from store.connection import StoreUnavailable, connect, store_error
from store.hashing import bare_hash, key_of, text_hash
from store.health import SystemHealth
from store.keys import CLOCK_AHEAD
from store.outboxes.alerts import packed
from store.outboxes.comments import CommentOutbox
from store.outboxes.unread_messages import unread_alert
from store.scripts import Scripts

# More unread messages than this from one customer is a flood: the rest ends as `silenced: flood`.
FLOOD_CAP = 200

# Script calls on their way at once: while the first runs, the second gathers what comes. More gain nothing.
CALLS_AT_ONCE = 2

# What the parts of a reply carry as Messenger `metadata`, so that their echo can be told apart.
METADATA_PREFIX = "ns:"
NO_WORDS = "[message without text]"

_Argument = str | bytes | int


class Inbox:
    """Stores events. POSTs that wait for the same server share one script call, which is what makes a 200 cheap."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        self._app_id = settings.env.meta_app_id
        config = settings.config
        self._limits = (
            _ms(config.debounce.quiet_seconds),
            _ms(config.debounce.max_wait_seconds),
            FLOOD_CAP,
            _json(_people(settings)),
        )
        self._waiting: deque[tuple[list[_Argument], asyncio.Future[None]]] = deque()
        self._storing: set[asyncio.Task[None]] = set()
        self._health = SystemHealth(scripts, settings)
        self._keywords = config.comments.keywords
        self._comments = CommentOutbox(scripts)
        self._media = config.media.kinds  # addresses of what nobody reads are not kept

    @property
    def scripts(self) -> Scripts:
        """For what else the process keeps on the same client."""
        return self._scripts

    async def receive(self, events: Sequence[Event]) -> None:
        """Return once everything is stored; raise `StoreUnavailable` when nothing may be acknowledged.

        What has come before waits like what is new, for the replicas to have it: receive.lua counts each duplicate, so
        that there is a later write to wait for.
        """
        arguments: list[_Argument] = []
        for event in events:
            arguments += self._arguments(event)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((arguments, done))
        if len(self._storing) < CALLS_AT_ONCE:
            task = asyncio.create_task(self._store())
            self._storing.add(task)
        await done
        if self._keywords:
            await self._note_comments(events)

    async def _note_comments(self, events: Sequence[Event]) -> None:
        for event in events:
            comment = event.comment if isinstance(event, Noted) else None
            if comment is not None and wants_private_reply(comment, self._keywords):
                await self._comments.note(comment)

    async def _store(self) -> None:
        try:
            while self._waiting:
                await self._store_batch()
        finally:
            # Not in a done-callback: a POST that came between the two would find nobody to store it.
            self._storing.discard(asyncio.current_task())

    async def _store_batch(self) -> None:
        batch, size = [], 0
        while self._waiting and size < 10_000:
            batch.append(self._waiting.popleft())
            size += len(batch[-1][0])
        arguments: list[_Argument] = [*self._limits]
        for own, _ in batch:
            arguments += own
        try:
            answer = await self._scripts.run_confirmed("receive", *arguments)
        except Exception as exc:  # noqa: BLE001 - every waiting POST must learn of it, whatever it was
            for _, done in batch:
                if not done.done():
                    done.set_exception(exc)
        else:
            self._scripts.clock.tells(int(answer[4]))
            for _, done in batch:
                if not done.done():
                    done.set_result(None)

    def _arguments(self, event: Event) -> list[_Argument]:
        """Eleven strings an event, as receive.lua reads them."""
        match event:
            case Noted(unread=UnreadMessage() as unread):
                return _to_be_read(event.kind, unread, self._scripts.clock.now_ms())
            case Noted():
                alert_id, alert = _told_once(event, self._scripts.clock.now_ms())
                return ["n", "", "", "", "", "", "", event.kind, alert_id, "", alert]
            case PolicyEnforcement():
                return _policy(event, self._scripts.clock.now_ms())
        contact = event.contact
        who = [contact.conversation_id, contact.channel.value, contact.account_id, contact.customer_id]
        at = str(event.at_ms)
        match event:
            case CustomerMessage():
                key = key_of(event.kind.value, event.mid)
                reason = event.closed_as.value if event.closed_as else ""
                return [
                    "m",
                    *who,
                    key,
                    at,
                    reason,
                    key_of("deletion", event.mid),
                    event.found,
                    _entry(event, self._media),
                ]
            case Echo():
                ours = "1" if self._app_id and event.app_id == self._app_id else ""
                metadata = event.metadata or ""
                tag = metadata.removeprefix(METADATA_PREFIX) if metadata.startswith(METADATA_PREFIX) else ""
                words = "\n".join([*event.notes, event.text] if event.text.strip() else event.notes)
                is_empty = is_invisible(event.text) and not event.notes and not event.attached
                key = key_of("echo", event.mid)
                kept = {"role": "business", "text": words or NO_WORDS, "at": event.at_ms, "key": key}
                line = b"" if is_empty else _json(kept)
                return [
                    "l" if event.found else "e",
                    *who,
                    key,
                    at,
                    _likeness(event),
                    ours,
                    tag,
                    line,
                ]
            case Edit():
                key = key_of(f"edit {event.number}", event.mid)
                return ["x", *who, key, at, key_of("message", event.mid), str(event.number), "", _json(event.text)]
            case Deletion():
                return ["d", *who, key_of("deletion", event.mid), at, key_of("message", event.mid), "", "", ""]
            case CustomerAction():
                return ["a", *who, "", at, event.kind, "", "", ""]
            case ThreadControl():
                owner = event.owner_app_id
                if owner is None and event.kind == "pass":
                    return self._arguments(Noted("idle_thread_control", contact.account_id))
                # Without our own app's id Meta's custom decides: who is passed a thread is told so, and who loses one.
                is_ours = owner == self._app_id if self._app_id else event.kind == "pass"
                key = key_of(f"{event.kind}_thread_control", f"{contact.customer_id} {event.at_ms} {owner}")
                return ["t", *who, key, at, event.kind, "1" if is_ours else "", "", ""]

    async def server_ms(self) -> int:
        """What time it is at least: the server's, less what its clock may have jumped ahead (store/server/clock_watch).
        Raise `StoreUnavailable` when it cannot be asked."""
        now_ms = await self._scripts.ask_time()
        return now_ms - int(await self._scripts.command("GET", CLOCK_AHEAD) or 0)

    async def writable(self) -> bool:
        """True when a write would be taken now: a replica, a full server and a frozen one all say no."""
        try:
            return await self._health.writable()
        except StoreUnavailable:
            return False

    async def system_health(self) -> dict[str, Any]:
        return await self._health.report()

    async def metrics(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        return await self._health.metrics()

    async def aclose(self) -> None:
        if self._storing:
            await asyncio.wait(self._storing)
        try:
            await self._scripts.client.aclose()
        except OSError as exc:
            raise store_error(exc) from exc


def open_inbox(settings: Settings, *, role: str) -> Inbox:
    """For the running event loop; half a second is all a receiver may lose to a frozen server."""
    client = connect(
        settings.env.redis_url,
        max_connections=16,
        timeout_seconds=0.5,
        pool_wait_seconds=0.3,
        client_name=f"nightshift-{role}",
    )
    return Inbox(Scripts(client, replicas=settings.config.store.replicas), settings)


def _likeness(echo: Echo) -> str:
    """What tells an echo as ours while nobody knows its mid; on Messenger its metadata tells a bare attachment, unless
    it was read back."""
    by_kind = echo.contact.channel is Channel.INSTAGRAM or echo.found
    if not echo.text.strip() and len(echo.attached) == 1 and by_kind:
        return bare_hash(echo.attached[0])
    return text_hash(echo.text)


def _entry(message: CustomerMessage, media_kinds: frozenset[str]) -> bytes:
    """What the turn will read; empty fields are left out, since Lua knows no empty list."""
    body: dict[str, Any] = {"mid": message.mid, "kind": message.kind.value, "at": message.at_ms}
    if message.text:
        body["text"] = message.text
    if message.notes:
        body["notes"] = list(message.notes)
    if message.needs_text:
        body["needs_text"] = True
    if media := [[m.kind.value, m.url, m.note] for m in message.media if m.kind.value in media_kinds]:
        body["media"] = media
    return _json(body)


def _people(settings: Settings) -> dict[str, list[int]]:
    """By account (and "" for any other): how long a human's words hold, and what is too quick to be a human's."""
    shift = settings.config.shift
    named = {f"{a.channel.value} {a.id}": settings.shift_of(a) for a in settings.config.accounts}
    return {
        name: [_ms(rules.takeover_minutes * 60), _ms(rules.ignore_auto_replies_seconds)]
        for name, rules in {"": shift, **named}.items()
    }


def _told_once(event: Noted, now_ms: int) -> tuple[str, str]:
    """Id and body of an alert: one for each account that is not configured, one a day about what is too old."""
    if not event.account_id or event.kind not in ("unknown_account", "too_old"):
        return "", ""
    account = event.account_id[:40]
    alert = Alert(event.kind, detail=account, first_at=now_ms)
    return f"system:{event.kind}:{account if event.kind == 'unknown_account' else utc_day(now_ms)}", packed(alert)


def _to_be_read(kind: str, unread: UnreadMessage, now_ms: int) -> list[_Argument]:
    """A worker reads it by its mid (store/outboxes/unread_messages.py)."""
    channel, account, customer = unread.channel.value, unread.account_id, unread.customer_id
    cid = conversation_id(channel, account, customer) if customer else ""
    record = {"channel": channel, "account": account, "mid": unread.mid, "at": unread.at_ms}
    alert_id, alert = unread_alert(channel, account, now_ms=now_ms)
    at = str(unread.at_ms)
    key = key_of("message", unread.mid)
    return ["g", cid, channel, account, customer, key, at, kind, alert_id, packed(alert), _json(record)]


def _policy(event: PolicyEnforcement, now_ms: int) -> list[_Argument]:
    """Meta's warning or block of an account; an unblock lifts the block and is not told."""
    channel, account_id = event.channel.value, event.account_id
    key = key_of("policy_enforcement", f"{channel} {account_id} {event.action} {event.at_ms}")
    alert = ""
    if event.action in ("block", "warning"):
        policy = Alert(f"account_policy_{event.action}", detail=event.reason, channel=channel, account=account_id)
        alert = packed(replace(policy, first_at=now_ms))
    # Should the unblock be lost, a send tries every so often whether the block still stands.
    longest = str(_ms(RESTRICTED_SECONDS))
    return ["p", "", channel, account_id, "", key, str(event.at_ms), event.action, longest, "", alert]


def _json(value: object) -> bytes:
    """Bytes, since making it text only for it to be made bytes again is a good part of what an event costs."""
    return orjson.dumps(value)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


__all__ = ["FLOOD_CAP", "METADATA_PREFIX", "Inbox", "open_inbox"]
