"""What the tests of the Telegram client share."""

from dataclasses import dataclass

from pydantic import SecretStr

from runtime.settings import Environment
from sandbox.telegram.server import TelegramSandbox

TOKEN = "7000000001:invented-token"
CHAT = "-100500"


def environment(url: str, *, token: str = TOKEN, chat: str = CHAT) -> Environment:
    return Environment(telegram_api_url=url, telegram_bot_token=SecretStr(token), telegram_chat_id=chat)


@dataclass
class Served:
    sandbox: TelegramSandbox
    url: str
