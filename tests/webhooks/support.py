"""What the tests of the receiver share: accounts, settings, signatures, a store in memory."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from bot.incoming.events import Channel, Contact, Event
from runtime.settings import Account, Config, Environment, Settings
from webhooks.accounts import Accounts
from webhooks.payloads import parse_body
from webhooks.status.health import Freshness
from webhooks.translate import translate

SECRET = "invented-app-secret-01"
VERIFY_TOKEN = "invented-verify-token"
INSTAGRAM = "17841400000000042"
PAGE = "104400000000001"
IGSID = "9001000000000123"
PSID = "7000000000000011"
ON_INSTAGRAM = Contact(Channel.INSTAGRAM, INSTAGRAM, IGSID)
ON_MESSENGER = Contact(Channel.MESSENGER, PAGE, PSID)
RECEIVED_MS = 1_790_000_999_000
LOOK_AGAIN = Freshness(0, 0, 0)

ACCOUNTS = (
    Account(channel=Channel.INSTAGRAM, id=INSTAGRAM, page_id=PAGE),
    Account(channel=Channel.MESSENGER, id=PAGE),
)


def make_settings(*, secrets: str = SECRET, verify_token: str = VERIFY_TOKEN, ops_token: str = "") -> Settings:
    env = Environment.model_construct(
        meta_app_secrets=SecretStr(secrets), meta_verify_token=SecretStr(verify_token), ops_token=SecretStr(ops_token)
    )
    return Settings.model_construct(env=env, config=Config(accounts=ACCOUNTS), warnings=())


def sign(body: bytes, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}"}


def translate_raw(raw: bytes) -> list[Event]:
    return translate(parse_body(raw), Accounts(ACCOUNTS), RECEIVED_MS)


def instagram(*items: object, **entry: object) -> dict[str, Any]:
    return {
        "object": "instagram",
        "entry": [{"id": INSTAGRAM, "time": 1790000000600, "messaging": list(items), **entry}],
    }


def item(**fields: object) -> dict[str, Any]:
    return {"sender": {"id": IGSID}, "recipient": {"id": INSTAGRAM}, "timestamp": 1790000000500, **fields}


def message(mid: str = "aWdf_1", **fields: object) -> dict[str, Any]:
    return item(message={"mid": mid, **fields})


def events(payload: object) -> list[Event]:
    return translate_raw(json.dumps(payload).encode())


def event(payload: object) -> Event:
    """The only event of a payload."""
    [only] = events(payload)
    return only


class RememberingStore:
    """Stands for Redis. Each question can be made to fail; `wait` holds up what comes."""

    def __init__(self) -> None:
        self.calls: list[Sequence[Event]] = []
        self.failure: Exception | None = None
        self.is_writable = True
        self.server_time_ms = RECEIVED_MS
        self.health: Mapping[str, Any] = {
            "ok": True,
            "redis": True,
            "dispatcher": True,
            "workers": 1,
            "beat": True,
            "open": 3,
            "oldest_open_seconds": 2.5,
        }

    @property
    def events(self) -> list[Event]:
        return [event for call in self.calls for event in call]

    async def receive(self, events: Sequence[Event]) -> None:
        self._fail()
        self.calls.append(events)

    async def server_ms(self) -> int:
        self._fail()
        return self.server_time_ms

    async def writable(self) -> bool:
        self._fail()
        return self.is_writable

    async def system_health(self) -> Mapping[str, Any]:
        self._fail()
        return self.health

    async def metrics(self) -> Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]:
        self._fail()
        return {
            "nightshift_messages_total": {(("outcome", "answered"),): 7.0, (("outcome", "expired"),): 1.0},
            "nightshift_open_messages": {(): 3.0},
            "nightshift_nothing_yet_total": {},
        }

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure
