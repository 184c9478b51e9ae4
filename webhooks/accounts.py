"""Which of our accounts does an id in a webhook mean?"""

from collections.abc import Iterable, Mapping

from bot.incoming.events import Channel
from runtime.settings import Account
from store.accounts.ids import AccountIds


class Accounts:
    """The configured accounts by every id that Meta may print for them."""

    def __init__(self, accounts: Iterable[Account]) -> None:
        self._configured = tuple(accounts)
        self._learned: dict[str, AccountIds] = {}
        self._ids = self._table()

    @property
    def with_instagram_login(self) -> tuple[Account, ...]:
        return tuple(a for a in self._configured if a.channel is Channel.INSTAGRAM and a.login == "instagram")

    @property
    def awaits_ids(self) -> bool:
        """With Instagram Login an account has two ids, and of one at least only one is known."""
        return any(not a.user_id and a.id not in self._learned for a in self.with_instagram_login)

    def learn(self, ids: Mapping[str, AccountIds]) -> None:
        """`ids` are Meta's own, by the id that the configuration has."""
        ours = {account.id for account in self.with_instagram_login}
        learned = {name: pair for name, pair in ids.items() if name in ours and name in {pair.id, pair.user_id}}
        if learned != self._learned:
            self._learned = learned
            self._ids = self._table()  # as a whole: a large body is being translated in a thread

    def on(self, channel: Channel) -> Mapping[str | None, str]:
        """Ids as configured, by any id that Meta may print for them; what is missing (None, too) is not ours."""
        return self._ids[channel]

    def _table(self) -> dict[Channel, dict[str | None, str]]:
        ids: dict[Channel, dict[str | None, str]] = {channel: {} for channel in Channel}
        for account in self._configured:
            # Instagram through Facebook Login prints the id of the linked Page in places.
            if account.channel is Channel.INSTAGRAM and account.page_id:
                ids[account.channel][account.page_id] = account.id
        for name, pair in self._learned.items():
            ids[Channel.INSTAGRAM] |= {pair.id: name, pair.user_id: name}
        for account in self._configured:
            if account.user_id:
                ids[account.channel][account.user_id] = account.id
        for account in self._configured:  # after the aliases: an id of its own always wins
            ids[account.channel][account.id] = account.id
        return ids
