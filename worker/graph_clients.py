"""Meta's clients, one for each account and patience, under the ids that Meta's paths name."""

from typing import TYPE_CHECKING

from clients.graph.api import GraphAPI
from runtime.settings import Account, Environment
from store.accounts.ids import AccountIds
from worker.account_ids import has_two_ids

if TYPE_CHECKING:
    import httpx

SEND_SECONDS = 9.0  # connecting included; a send must end well within a lease


class GraphClients:
    def __init__(self, http: "httpx.AsyncClient", env: Environment) -> None:
        self._http = http
        self._env = env
        self._clients: dict[tuple[str, str, float], GraphAPI] = {}
        self._user_ids: dict[str, str] = {}

    def of(self, account: Account, *, patience_seconds: float = SEND_SECONDS) -> GraphAPI:
        """One client for an account and a patience, so that its usage is seen as a whole."""
        key = (account.channel.value, account.id, patience_seconds)
        if key not in self._clients:
            if known := self._user_ids.get(account.id) if has_two_ids(account) else None:
                account = account.model_copy(update={"user_id": known})
            self._clients[key] = GraphAPI(self._http, account=account, env=self._env, timeout_seconds=patience_seconds)
        return self._clients[key]

    def learn(self, account: Account, ids: AccountIds) -> None:
        """From now on the account is called by the id that Meta's paths name."""
        if self._user_ids.get(account.id) != ids.user_id:
            self._user_ids[account.id] = ids.user_id
            for key in [key for key in self._clients if key[:2] == (account.channel.value, account.id)]:
                del self._clients[key]
