"""Meta as a world needs it: what reached each customer, what can be read back and when, which echoes are to come.

Its own time is true, whatever the store's clock says.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from bot.incoming.events import Channel, Contact, Echo
from tests.worlds.edges import HTTPCall
from tests.worlds.product import ACCOUNTS, APP_ID

REFUSALS = {
    "throttled": (4, None),
    "unavailable": (2, 1545133),
    "token": (190, None),
    "permission": (10, None),
    "restricted": (368, None),
    "gone": (551, None),
    "window": (10, 2534022),
    "content": (100, None),
    "other_app": (100, 2534037),
    "doubt": (1, None),
}


@dataclass(frozen=True)
class Kept:
    """One message of a thread, of either side; `visible_from` is the moment from which reading back shows it."""

    mid: str
    sender: str
    text: str
    at_ms: int
    visible_from: float


@dataclass
class Meta:
    threads: dict[tuple[str, str], list[Kept]] = field(default_factory=dict)
    sent: int = 0

    def keep(self, contact: Contact, message: Kept) -> None:
        self.threads.setdefault((contact.account_id, contact.customer_id), []).append(message)

    def arrive(self, call: HTTPCall, *, at_ms: int, visible_from: float) -> Echo:
        """Do what a send asks for and make its answer ready; the echo of what the customer got."""
        contact, text = contact_of(call), str(call.body["message"]["text"])
        self.sent += 1
        mid = f"m_sent_{self.sent}"
        self.keep(contact, Kept(mid, contact.account_id, text, at_ms, visible_from))
        call.arrived = True
        call.response = answer({"recipient_id": contact.customer_id, "message_id": mid})
        metadata = call.body["message"].get("metadata")
        return Echo(contact, mid, at_ms, text, app_id=APP_ID if metadata else None, metadata=metadata)

    def read(self, call: HTTPCall, *, moment: float) -> httpx.Response:
        """The conversation that is asked for, as far as it can be seen already."""
        owner = call.request.url.path.split("/")[2]
        account = next(account for account in ACCOUNTS if owner in (account.id, account.page_id))
        customer = call.request.url.params.get("user_id", "")
        kept = self.threads.get((account.id, customer), [])
        rows = [_row(message, account.id, customer) for message in kept if message.visible_from <= moment]
        thread = {"id": f"t_{customer}", "messages": {"data": rows[::-1]}}
        return answer({"data": [thread] if rows else []})


def contact_of(call: HTTPCall) -> Contact:
    owner = call.request.url.path.split("/")[2]
    account = next(account for account in ACCOUNTS if owner in (account.id, account.page_id))
    return Contact(Channel(account.channel), account.id, str(call.body["recipient"]["id"]))


def answer(body: dict[str, Any], status: int = 200) -> httpx.Response:
    return httpx.Response(status, content=orjson.dumps(body), headers={"content-type": "application/json"})


def refusal(name: str) -> httpx.Response:
    code, subcode = REFUSALS[name]
    error = {"message": "", "type": "OAuthException", "code": code}
    if subcode:
        error["error_subcode"] = subcode
    return answer({"error": error}, 400)


def _row(message: Kept, account: str, customer: str) -> dict[str, Any]:
    other = account if message.sender == customer else customer
    return {
        "id": message.mid,
        "message": message.text,
        "from": {"id": message.sender},
        "to": {"data": [{"id": other}]},
        "created_time": datetime.fromtimestamp(message.at_ms // 1000, UTC).isoformat(),
    }
