"""The two ids of an account with Instagram Login: a worker asks Meta for them, and the receivers find them here."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from runtime.logging import get_logger
from runtime.settings import Account
from store.keys import ACCOUNT_IDS
from store.scripts import Scripts

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AccountIds:
    """As `/me` calls them: `id` is app-scoped, `user_id` is what webhooks carry and paths name."""

    id: str
    user_id: str


class AccountIdStore:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def store(self, account: Account, ids: AccountIds) -> None:
        body = orjson.dumps({"id": ids.id, "user_id": ids.user_id}).decode()
        await self._scripts.command("HSET", ACCOUNT_IDS, account.id, body)

    async def load(self) -> Mapping[str, AccountIds]:
        """By the id that the configuration has."""
        found: dict[str, str] = await self._scripts.command("HGETALL", ACCOUNT_IDS)
        return {name: ids for name, body in found.items() if (ids := _ids(body)) is not None}


def _ids(body: str) -> AccountIds | None:
    """None for what another version has written otherwise: a worker asks Meta again."""
    try:
        kept = orjson.loads(body)
        return AccountIds(str(kept["id"]), str(kept["user_id"]))
    except (ValueError, KeyError, TypeError) as exc:
        log.warning("account_ids_unreadable", error=type(exc).__name__)
        return None
