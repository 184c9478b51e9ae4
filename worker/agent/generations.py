"""For turns that ended in the stub: fetches what the provider itself noted of each attempt, later and off the path."""

from collections.abc import Sequence

import httpx
import orjson

from clients.llm.generation import fetch_generation
from runtime.background import Count, repeat
from runtime.logging import get_logger
from store.keys import GENERATIONS as WAITING
from store.scripts import Scripts

log = get_logger(__name__)

WAITS_SECONDS = (10, 60, 300)  # the record appears with a delay of its own
LOOK_SECONDS = 5.0
KEPT_SECONDS = 7 * 86_400
MOST_AT_ONCE = 20


async def ask_later(scripts: Scripts, conversation_id: str, record_id: str, generation_ids: Sequence[str]) -> None:
    """Note that these generations of one failed turn are to be fetched."""
    due = scripts.clock.now_ms() + WAITS_SECONDS[0] * 1000
    members = [word for g in generation_ids if " " not in g for word in (due, f"{conversation_id} {record_id} {g} 0")]
    if members:
        await scripts.command("ZADD", WAITING, *members)
        await scripts.command("ZREMRANGEBYRANK", WAITING, 0, -1001)  # a night of failures needs no more than these


class Generations:
    """Any number of workers may run this: the one that takes an entry out asks for it."""

    def __init__(
        self,
        scripts: Scripts,
        http: httpx.AsyncClient,
        *,
        base_url: str,
        api_key: str,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._scripts = scripts
        self._http = http
        self._base_url = base_url
        self._api_key = api_key
        self._look_seconds = look_seconds

    async def run(self, *, count: Count | None = None) -> None:
        """Until cancelled."""
        await repeat("generations", self.fetch_due, every_seconds=self._look_seconds, count=count)

    async def fetch_due(self) -> int:
        """Fetch what is due; how many records were attached."""
        due = await self._scripts.command(
            "ZRANGEBYSCORE", WAITING, "-inf", self._scripts.clock.now_ms(), "LIMIT", 0, MOST_AT_ONCE
        )
        attached = 0
        for member in due:
            if await self._scripts.command("ZREM", WAITING, member):
                attached += await self._fetch(*str(member).split(" "))
        return attached

    async def _fetch(self, conversation_id: str, record_id: str, generation_id: str, tries: str) -> int:
        record = await fetch_generation(
            self._http, base_url=self._base_url, api_key=self._api_key, generation_id=generation_id
        )
        if record is None:
            asked = int(tries) + 1
            if asked < len(WAITS_SECONDS):
                member = f"{conversation_id} {record_id} {generation_id} {asked}"
                due = self._scripts.clock.now_ms() + WAITS_SECONDS[asked] * 1000
                await self._scripts.command("ZADD", WAITING, due, member)
            return 0
        body = orjson.dumps(record).decode()
        await self._scripts.run(
            "attach_generation", conversation_id, record_id, generation_id, body, KEPT_SECONDS * 1000
        )
        log.info("generation_attached", conversation=conversation_id, generation=generation_id)
        return 1
