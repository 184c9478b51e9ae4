"""Asks Meta for the second id of each account with Instagram Login, until it answers; nothing waits for that."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from runtime.background import OVER, Count, Over, repeat
from runtime.logging import get_logger
from runtime.settings import Account
from store.accounts.ids import AccountIds, AccountIdStore

log = get_logger(__name__)

WAITS_SECONDS = (5.0, 900.0)  # after the first failure, and at the most: each further one doubles the wait


class AccountIdsLearner:
    """`learned` is told each account with both of its ids, from Redis first and then from Meta."""

    def __init__(
        self,
        accounts: Sequence[Account],
        *,
        store: AccountIdStore,
        graph: Callable[[Account], GraphAPI],
        learned: Callable[[Account, AccountIds], None],
        waits_seconds: Sequence[float] = WAITS_SECONDS,
    ) -> None:
        self._accounts = [a for a in accounts if has_two_ids(a) and not a.user_id]
        self._store = store
        self._graph = graph
        self._learned = learned
        self._waits = waits_seconds

    async def run(self, *, count: Count | None = None) -> None:
        """Until all are known, or Meta has said that there is nothing to know."""
        first, longest = self._waits[0], self._waits[-1]
        await asyncio.gather(
            *(
                repeat(
                    f"account_ids:{account.id}",
                    partial(self._learn, account),
                    every_seconds=first,
                    longest_wait_seconds=longest,
                    count=count,
                )
                for account in self._accounts
            )
        )

    async def _learn(self, account: Account) -> Over:
        if ids := (await self._store.load()).get(account.id):
            self._learned(account, ids)
        await self._ask(account)
        return OVER

    async def _ask(self, account: Account) -> None:
        ids = await self._graph(account).fetch_account_ids()
        if not ids.user_id or not ids.id:
            log.warning("account_ids_unknown", account_id=account.id, reason="Meta names no user_id")
            return
        if account.id not in {ids.id, ids.user_id}:
            log.error("account_token_of_another", account_id=account.id, token_user_id=ids.user_id)
            return
        await self._store.store(account, ids)
        self._learned(account, ids)
        log.info("account_ids_learned", account_id=account.id, user_id=ids.user_id)


def has_two_ids(account: Account) -> bool:
    return account.channel == Channel.INSTAGRAM and account.login == "instagram"
