"""The configuration that the stack runs under, and the accounts in it as the product and Meta know them."""

from collections.abc import Mapping

from bot.incoming.events import Channel
from runtime.settings import Account

CONFIG = """
[business]
name = "Demo Studio"
locale = "{locale}"
disclosure = {disclosure}
timezone = "Europe/Moscow"

[[accounts]]
channel = "instagram"
login = "facebook"
id = "17841400000000042"
page_id = "104400000000001"
token_env = "INSTAGRAM_TOKEN"

[[accounts]]
channel = "messenger"
id = "104400000000001"
token_env = "MESSENGER_TOKEN"

[debounce]
quiet_seconds = {quiet}
max_wait_seconds = {max_wait}

[shift]
takeover_minutes = {takeover}

[turn]
budget_seconds = {budget}
{more}
"""


def section_of(account: Account) -> str:
    """As nightshift.toml has it; the token is in the environment."""
    names = ("channel", "login", "id", "user_id", "page_id", "token_env")
    lines = [f'{name} = "{value}"' for name in names if (value := getattr(account, name))]
    return "\n".join(["[[accounts]]", *lines, ""])


def two_accounts(tokens: Mapping[str, str]) -> list[Account]:
    return [
        Account(
            channel=Channel.INSTAGRAM,
            login="facebook",
            id="17841400000000042",
            page_id="104400000000001",
            token_env="INSTAGRAM_TOKEN",  # noqa: S106 - the variable's name
            token=tokens["INSTAGRAM_TOKEN"],
        ),
        Account(
            channel=Channel.MESSENGER,
            id="104400000000001",
            token_env="MESSENGER_TOKEN",  # noqa: S106
            token=tokens["MESSENGER_TOKEN"],
        ),
    ]
