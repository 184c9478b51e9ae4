"""How Meta's webhooks travel: signed, repeated until they are taken, in batches, doubled, late and out of order."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import httpx

from clients.http import make_http_client
from sandbox.meta.store import MetaStore
from sandbox.meta.webhooks import WebhookItem, batch_body, sign, webhook_bodies

POSTS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Leg:
    """One delivery of an item, so many seconds after the start."""

    after_seconds: float
    item: WebhookItem


def disorder(
    items: Sequence[WebhookItem], *, seed: int, doubled: float = 0.5, late_seconds: float = 0.3
) -> tuple[Leg, ...]:
    """Each item once, or twice with probability `doubled`, each time late by up to `late_seconds`: the same seed
    gives the same disorder."""
    chance = random.Random(seed)
    legs = [
        Leg(chance.uniform(0, late_seconds), item)
        for item in items
        for _ in range(2 if chance.random() < doubled else 1)
    ]
    return tuple(sorted(legs, key=lambda leg: leg.after_seconds))


class Delivery:
    """A webhook that is not taken (no 200) in its tries is listed in `lost_webhooks`."""

    def __init__(self, store: MetaStore, *, webhook_url: str, app_secret: str) -> None:
        super().__init__()
        self.store = store
        self.webhook_url = webhook_url
        self.app_secret = app_secret
        self.lost_webhooks: list[bytes] = []

    async def deliver(self, *items: WebhookItem, tries: int = 1) -> list[int]:
        """Post signed webhooks with `items`; the last HTTP status of each POST, 0 where there was no answer."""
        bodies = webhook_bodies(self._told(items), at_ms=self._now_ms())
        async with make_http_client() as http:
            return [await self._post_webhook(http, body, tries) for body in bodies]

    async def deliver_batch(self, *items: WebhookItem, tries: int = 1) -> int:
        """One POST with an entry for each of up to 1000 items of one `object`; its last HTTP status."""
        body = batch_body(self._told(items), at_ms=self._now_ms())
        async with make_http_client() as http:
            return await self._post_webhook(http, body, tries)

    async def deliver_in_disorder(
        self, *items: WebhookItem, seed: int, doubled: float = 0.5, late_seconds: float = 0.3, tries: int = 12
    ) -> list[int]:
        """A POST for each item, as `disorder` has it; each is repeated until it is taken."""
        told = list(self._told(items))
        gate = asyncio.Semaphore(POSTS_AT_ONCE)
        async with make_http_client() as http:

            async def post(leg: Leg) -> int:
                await asyncio.sleep(leg.after_seconds)
                async with gate:
                    [body] = webhook_bodies([leg.item], at_ms=self._now_ms())
                    return await self._post_webhook(http, body, tries)

            legs = disorder(told, seed=seed, doubled=doubled, late_seconds=late_seconds)
            return await asyncio.gather(*map(post, legs))

    def lose(self, *items: WebhookItem) -> None:
        """Meta has these in its conversations, and sends no webhook for them."""
        for item in items:
            self.store.note_item(item)

    def _told(self, items: Iterable[WebhookItem]) -> Iterable[WebhookItem]:
        for item in items:
            self.store.note_item(item)
            yield self._as_told(item)

    def _as_told(self, item: WebhookItem) -> WebhookItem:
        return item

    async def _post_webhook(self, http: httpx.AsyncClient, body: bytes, tries: int) -> int:
        if not self.webhook_url or not self.app_secret:
            raise RuntimeError("webhooks need webhook_url and app_secret")
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature-256": sign(body, self.app_secret),
        }
        status = 0
        for number in range(tries):
            if number:
                await asyncio.sleep(0.1 * 2**number)
            try:
                async with asyncio.timeout(20):
                    status = (await http.post(self.webhook_url, content=body, headers=headers)).status_code
            except (httpx.TransportError, TimeoutError):
                status = 0
            if status == 200:
                return status
        self.lost_webhooks.append(body)
        return status

    def _now_ms(self) -> int:
        return int(self.store.clock() * 1000)
