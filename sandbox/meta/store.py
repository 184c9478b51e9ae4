"""What the Meta stand-in remembers: conversations, windows, profiles, and all that was sent to customers."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from runtime.settings import Account
from sandbox.meta.webhooks import WebhookItem
from sandbox.patience import PATIENCE_SECONDS

WINDOW_SECONDS = 24 * 3600.0
READABLE_MESSAGES = 20


@dataclass
class StoredMessage:
    id: str
    from_id: str
    to_id: str
    text: str
    at: float
    attachments: Sequence[Mapping[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "created_time": datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000"),
            "from": {"id": self.from_id},
            "to": {"data": [{"id": self.to_id}]},
            "message": self.text,
            **({"attachments": {"data": [_read_back(a) for a in self.attachments]}} if self.attachments else {}),
        }


@dataclass
class Thread:
    """One conversation; `wrote_at` is when the customer last opened the window, None while they never wrote.

    `owner_app_id` is the app that has it, "" when it is everybody's.
    """

    id: str
    account: Account
    customer_id: str
    messages: list[StoredMessage] = field(default_factory=list)
    wrote_at: float | None = None
    closed: bool = False
    owner_app_id: str = ""


class MetaStore:
    """Times are Unix seconds of `clock`. Safe to read from a test's thread while the server writes."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.sent: list[dict[str, Any]] = []
        self.actions: list[dict[str, Any]] = []
        self.profiles: dict[str, dict[str, str]] = {}
        self.profile_refusals: dict[str, tuple[int, int | None]] = {}
        self.comments: dict[str, str] = {}  # that may be answered privately, and their authors
        self._threads: dict[tuple[str, str, str], Thread] = {}
        self._changed = threading.Condition()

    def thread(self, account: Account, customer_id: str) -> Thread:
        key = (account.channel.value, account.id, customer_id)
        with self._changed:
            if key not in self._threads:
                self._threads[key] = Thread(f"t_{len(self._threads) + 1:012d}", account, customer_id)
            return self._threads[key]

    def threads_of(self, account: Account, customer_id: str | None = None) -> list[Thread]:
        with self._changed:
            return [
                thread
                for thread in self._threads.values()
                if thread.account == account and customer_id in {None, thread.customer_id} and thread.messages
            ]

    def find_thread(self, thread_id: str) -> Thread | None:
        with self._changed:
            return next((thread for thread in self._threads.values() if thread.id == thread_id), None)

    def find_message(self, mid: str) -> tuple[Thread, StoredMessage] | None:
        with self._changed:
            for thread in self._threads.values():
                for message in thread.messages:
                    if message.id == mid:
                        return thread, message
        return None

    def knows(self, account: Account, customer_id: str) -> bool:
        """Whether this customer ever wrote to this account."""
        with self._changed:
            thread = self._threads.get((account.channel.value, account.id, customer_id))
            return thread is not None and thread.wrote_at is not None

    def window_open(self, account: Account, customer_id: str) -> bool:
        """A customer whom no test set up is assumed to have written just now."""
        thread = self.thread(account, customer_id)
        fresh = thread.wrote_at is None or self.clock() - thread.wrote_at <= WINDOW_SECONDS
        return fresh and not thread.closed

    def note_item(self, item: WebhookItem) -> None:
        """Remember what a webhook tells, as Meta knows it before we do."""
        body = item.item
        content = body.get("message") or body.get("postback")
        if not isinstance(content, Mapping):
            return
        sender, recipient = body["sender"]["id"], body["recipient"]["id"]
        customer_id = recipient if sender == item.account.id else sender
        thread = self.thread(item.account, customer_id)
        at = body["timestamp"] / 1000
        if sender == customer_id:
            thread.wrote_at = max(at, thread.wrote_at or 0.0)
            thread.closed = False
        if "message" in body:
            self._remember(
                thread, content["mid"], sender, recipient, content.get("text", ""), at, content.get("attachments", ())
            )

    def record_sent(
        self,
        account: Account,
        to: str,
        text: str,
        mid: str,
        metadata: str | None,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        """`beside` is what the customer sees besides the text; the text of a template is not read back."""
        at = self.clock()
        read_back = "" if beside and "links" in beside else text
        self._remember(self.thread(account, to), mid, account.id, to, read_back, at)
        with self._changed:
            self.sent.append(
                {
                    "to": to,
                    "text": text,
                    "mid": mid,
                    "at": at,
                    "account": account.id,
                    "channel": account.channel.value,
                    "metadata": metadata,
                    **(beside or {}),
                }
            )
            self._changed.notify_all()

    def record_action(self, account: Account, to: str, action: str, payload: Mapping[str, Any] | None = None) -> None:
        with self._changed:
            taken = {"to": to, "action": action, "at": self.clock(), "account": account.id}
            self.actions.append(taken | dict(payload or {}))
            self._changed.notify_all()

    def wait_for_sent(self, count: int, timeout_seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
        """Block until `count` messages were sent in all; raise TimeoutError when they are not in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.sent) >= count, timeout_seconds):
                raise TimeoutError(f"{len(self.sent)} messages were sent, not {count}")
            return list(self.sent)

    def reset(self) -> None:
        with self._changed:
            self.sent.clear()
            self.actions.clear()
            self.profiles.clear()
            self.profile_refusals.clear()
            self.comments.clear()
            self._threads.clear()

    def _remember(
        self,
        thread: Thread,
        mid: str,
        sender: str,
        recipient: str,
        text: str,
        at: float,
        attachments: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        with self._changed:
            if all(message.id != mid for message in thread.messages):
                thread.messages.append(StoredMessage(mid, sender, recipient, text, at, attachments))


def _read_back(attachment: Mapping[str, Any]) -> dict[str, Any]:
    """The Conversations API words an attachment by what it holds, not by a type."""
    kind, url = attachment.get("type", ""), (attachment.get("payload") or {}).get("url")
    if kind in {"image", "video"}:
        return {"id": "1", "mime_type": f"{kind}/any", f"{kind}_data": {"url": url, "preview_url": url}}
    return {"id": "1", "mime_type": "audio/mp4" if kind == "audio" else "application/pdf", "file_url": url}
