"""Which of our accounts does an id in a webhook mean?"""

from collections.abc import Iterable, Mapping

from bot.messages import Channel
from runtime.settings import Account


class Accounts:
    """The configured accounts by every id that Meta may print for them."""

    def __init__(self, accounts: Iterable[Account]) -> None:
        self._ids: dict[Channel, dict[str | None, str]] = {channel: {} for channel in Channel}
        configured = tuple(accounts)
        for account in configured:
            # Instagram through Facebook Login prints the id of the linked Page in places.
            if account.channel is Channel.INSTAGRAM and account.page_id:
                self._ids[account.channel][account.page_id] = account.id
        for account in configured:  # after the aliases: an id of its own always wins
            self._ids[account.channel][account.id] = account.id

    def on(self, channel: Channel) -> Mapping[str | None, str]:
        """Ids as configured, by any id that Meta may print for them; what is missing (None, too) is not ours."""
        return self._ids[channel]
