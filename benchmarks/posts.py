"""Signed webhook POSTs as the bytes of their requests, each with message ids of its own."""

import secrets
import time
from collections.abc import Sequence

from bot.incoming.events import Channel
from runtime.settings import Account
from sandbox.meta.webhooks import message_item, sign, webhook_bodies

ACCOUNT = Account(
    channel=Channel.INSTAGRAM,
    login="facebook",
    id="17841400000000042",
    page_id="104400000000001",
    token_env="INSTAGRAM_TOKEN",  # noqa: S106 - the variable's name
)
MESSENGER = Account(channel=Channel.MESSENGER, id="104400000000001", token_env="MESSENGER_TOKEN")  # noqa: S106
TEXT = "Здравствуйте! Подскажите, пожалуйста, есть ли у вас свободное время на этой неделе?"
SECRET = "benchmark-app-secret"  # noqa: S105 - signs what the benchmarks send themselves
ENVIRONMENT = {"META_APP_SECRETS": SECRET}
MID_LENGTH = 160  # as Meta's own: longer than the words they carry


def customers(count: int) -> list[str]:
    """Invented scoped ids."""
    return [f"901{secrets.randbelow(10**13):013d}" for _ in range(count)]


def body(people: Sequence[str], account: Account = ACCOUNT) -> bytes:
    """One POST with a message of each of `people`."""
    now = int(time.time() * 1000)
    items = [
        message_item(account, who, at_ms=now, text=TEXT, mid=secrets.token_urlsafe(MID_LENGTH)[:MID_LENGTH])
        for who in people
    ]
    (only,) = webhook_bodies(items, at_ms=now)
    return only


def request(content: bytes) -> bytes:
    head = (
        "POST /webhooks/meta HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        "User-Agent: facebookexternalua\r\n"
        "Accept: */*\r\n"
        "Content-Type: application/json\r\n"
        f"X-Hub-Signature-256: {sign(content, SECRET)}\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def requests(count: int, *, events: int = 1, people: int = 2000) -> list[bytes]:
    crowd = customers(min(people, max(count * events, 1)))
    size = len(crowd)
    return [request(body([crowd[(i * events + j) % size] for j in range(events)])) for i in range(count)]
