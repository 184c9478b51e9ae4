"""The receiver's side of Redis: one round trip stores a whole POST, and says how the house is doing."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import orjson

from bot.incoming.comments import wants_private_reply
from bot.incoming.events import Event, Noted
from runtime.settings import Settings
from store.connection import StoreUnavailable, connect, store_error
from store.health import SystemHealth
from store.incoming.received_events import fields_of
from store.keys import CLOCK_AHEAD
from store.outboxes.comments import CommentOutbox
from store.scripts import Scripts

# Script calls on their way at once: while the first runs, the second gathers what comes. More gain nothing.
CALLS_AT_ONCE = 2

_Argument = str | bytes | int

MOST_EVENTS = 900
"""Of one script call; a POST that has more by itself is not divided."""


class Inbox:
    """Stores events. POSTs that wait for the same server share one script call, which is what makes a 200 cheap."""

    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        self._app_id = settings.env.meta_app_id
        config = settings.config
        self._limits: tuple[_Argument, ...] = (
            _ms(config.debounce.quiet_seconds),
            _ms(config.debounce.max_wait_seconds),
            orjson.dumps(_people(settings)),
        )
        self._waiting: deque[tuple[int, list[_Argument], asyncio.Future[None]]] = deque()
        self._storing: set[asyncio.Task[None]] = set()
        self._health = SystemHealth(scripts, settings)
        self._keywords = config.comments.keywords
        self._comments = CommentOutbox(scripts)
        self._media = config.media.kinds  # addresses of media that is not read are not kept

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
        now_ms = self._scripts.clock.now_ms()
        for event in events:
            arguments += fields_of(event, app_id=self._app_id, media_kinds=self._media, now_ms=now_ms)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((len(events), arguments, done))
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
            # Not in a done-callback: a POST that came between the two would find no call that stores it.
            self._storing.discard(asyncio.current_task())

    async def _store_batch(self) -> None:
        batch, arguments, events = [], [*self._limits], 0
        while self._waiting and events < MOST_EVENTS:
            count, own, done = self._waiting.popleft()
            batch.append(done)
            arguments += own
            events += count
        try:
            now_ms = await self._scripts.run_confirmed("receive", *arguments)
        except Exception as exc:  # noqa: BLE001 - every waiting POST must learn of it, whatever it was
            for done in batch:
                if not done.done():
                    done.set_exception(exc)
        else:
            self._scripts.clock.tells(int(now_ms))
            for done in batch:
                if not done.done():
                    done.set_result(None)

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


def _people(settings: Settings) -> dict[str, list[int]]:
    """By account (and "" for any other): how long a human's words hold, and what is too quick to be a human's."""
    shift = settings.config.shift
    named = {f"{a.channel.value} {a.id}": settings.shift_of(a) for a in settings.config.accounts}
    return {
        name: [_ms(rules.takeover_minutes * 60), _ms(rules.ignore_auto_replies_seconds)]
        for name, rules in {"": shift, **named}.items()
    }


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
