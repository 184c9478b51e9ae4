"""Who calls the Meta stand-in: the host, the token and the owner in the path must be of one flavour."""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.incoming.events import Channel
from runtime.settings import Account
from sandbox.meta.errors import refusal
from sandbox.meta.store import MetaStore


class Host(StrEnum):
    """Each is served under its own first folder; a call without one is not asked for its flavour."""

    FACEBOOK = "graph.facebook.com"
    INSTAGRAM = "graph.instagram.com"


def home_of(account: Account) -> Host:
    return Host.INSTAGRAM if uses_instagram_login(account) else Host.FACEBOOK


def uses_instagram_login(account: Account) -> bool:
    return account.channel == Channel.INSTAGRAM and account.login == "instagram"


def as_meta_knows(account: Account) -> Account:
    """Under its professional id, whichever of the two ids the configuration calls it by."""
    if not uses_instagram_login(account) or not account.user_id:
        return account
    return account.model_copy(update={"id": account.user_id, "user_id": account.id})


class Callers:
    """`accounts` are under the ids that webhooks carry.

    With Instagram Login an account has an app-scoped id, too: `app_scoped_id` invents one unless `user_id` names it.
    """

    accounts: list[Account]
    store: MetaStore
    wraps_me = True  # Meta's own example of /me has the answer in a `data` array, elsewhere it is bare

    def app_scoped_id(self, account: Account) -> str:
        return account.user_id or f"26{int(sha256(account.id.encode()).hexdigest(), 16) % 10**15:015d}"

    def set_wraps_me(self, *, wraps: bool) -> None:
        self.wraps_me = wraps

    def _accounts_of_token(self, request: Request) -> list[Account]:
        """Only the header counts: a token in a URL ends in access logs. On the other flavour's host it is
        no token at all."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not token:
            return []
        host = _host_of(request)
        return [a for a in self.accounts if a.token.get_secret_value() == token and host in {None, home_of(a)}]

    def _account_for(
        self, request: Request, customer_id: str | None = None, platform: str | None = None
    ) -> Account | Response:
        """A Page token serves two channels: the recipient tells them apart, as it does at Meta."""
        mine = self._accounts_of_token(request)
        if not mine:
            return refusal(190, status=400)
        owner = request.path_params["owner"]
        fitting = [a for a in mine if owner in {"me", _path_owner(a)} and platform in {None, a.channel.value}]
        if not fitting:
            return refusal(100, 33)
        known = [a for a in fitting if customer_id and self.store.knows(a, customer_id)]
        return (known or fitting)[0]

    def _me(self, request: Request) -> Response:
        """The account of the token; with Instagram Login `id` is app-scoped and `user_id` is what webhooks carry."""
        accounts = self._accounts_of_token(request)
        if not accounts:
            return refusal(190, status=400)
        account = accounts[0]
        fields = request.query_params.get("fields", "id,username").split(",")
        whole: Mapping[str, Any] = {"id": account.page_id or account.id, "name": "Invented Shop"}
        if uses_instagram_login(account):
            whole = {"id": self.app_scoped_id(account), "user_id": account.id, "username": "invented_shop"}
        if set(fields) - whole.keys():
            return refusal(100, message="(#100) Tried accessing nonexisting field")
        answer = {name: whole[name] for name in fields} | {"id": whole["id"]}
        return JSONResponse({"data": [answer]} if uses_instagram_login(account) and self.wraps_me else answer)


def _host_of(request: Request) -> Host | None:
    name = str(request.scope.get("root_path", "")).rpartition("/")[2]
    return Host(name) if name in set(Host) else None


def _path_owner(account: Account) -> str | None:
    if account.channel == Channel.MESSENGER:
        return account.page_id or account.id
    return account.id if account.login == "instagram" else account.page_id
