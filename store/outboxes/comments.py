"""The small outbox of private replies: a comment is stored before its webhook is acknowledged, and answered once."""

from dataclasses import dataclass
from typing import Any

import orjson

from bot.incoming.events import Channel, Comment, Contact
from runtime.logging import get_logger
from store.hashing import key_of, text_hash
from store.keys import COMMENTS, COMMENTS_DUE
from store.scripts import Scripts

log = get_logger(__name__)

SEEN_MS = 8 * 86_400_000  # longer than a comment can be answered
LEASE_SECONDS = 60.0  # a sender that has not reported by then is gone
UNCONFIRMED_SECONDS = 5.0
MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class WaitingComment:
    """A comment to be answered, and how often that was tried."""

    id: str
    comment: Comment
    tries: int


class CommentOutbox:
    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def note(self, comment: Comment) -> bool:
        """False when it is known already. Raise `StoreUnavailable` when it could not be stored."""
        key = key_of("comment", f"{comment.channel} {comment.comment_id}")
        payload = {
            "channel": comment.channel.value,
            "account": comment.account_id,
            "comment": comment.comment_id,
            "customer": comment.customer_id,
            "at": comment.at_ms,
            "text": comment.text[:MOST_TEXT],
        }
        return bool(await self._scripts.run_confirmed("comment", key, orjson.dumps(payload).decode(), SEEN_MS))

    async def due(self, *, now_ms: int, limit: int) -> list[WaitingComment]:
        ids = await self._scripts.command("ZRANGEBYSCORE", COMMENTS_DUE, "-inf", now_ms, "LIMIT", 0, limit)
        if not ids:
            return []
        bodies = await self._scripts.command("HMGET", COMMENTS, *ids)
        found: list[WaitingComment] = []
        for key, raw in zip(map(str, ids), bodies, strict=True):
            if (waiting := _waiting(key, raw)) is not None:
                found.append(waiting)
            else:  # no version could answer it, and it would stand before the others for ever
                log.error("comment_unreadable", comment=key)
                await self._scripts.run("settle_comment", key, "unreadable", 0)
        return found

    async def begin(self, waiting: WaitingComment, reply: str) -> str:
        """ "sending" when the call may be made now; "taken", "gone", "unknown" when it may not. "unconfirmed": too few
        replicas know of it, and a failover would have it sent once more; it is tried again in a while."""
        comment = waiting.comment
        cid = Contact(comment.channel, comment.account_id, comment.customer_id).conversation_id
        lease_ms, hashed = LEASE_SECONDS * 1000, text_hash(reply)
        word, doubt = await self._scripts.run_doubted("begin_comment", waiting.id, lease_ms, cid, hashed)
        if word == "sending" and await doubt:
            await self._scripts.run("settle_comment", waiting.id, "unconfirmed", UNCONFIRMED_SECONDS * 1000)
            return "unconfirmed"
        return str(word)

    async def again(self, waiting: WaitingComment, seconds: float) -> None:
        await self._scripts.run("settle_comment", waiting.id, "again", round(seconds * 1000))

    async def drop(self, waiting: WaitingComment, word: str) -> None:
        """ "refused", "unknown" or "expired": it is counted, and never tried again."""
        await self._scripts.run("settle_comment", waiting.id, word, 0)

    async def sent(self, waiting: WaitingComment, *, customer_id: str, mid: str, reply: str, now_ms: int) -> None:
        """`customer_id` is whom Meta names as its recipient: the comment's author under the id of a conversation."""
        comment = waiting.comment
        contact = Contact(comment.channel, comment.account_id, customer_id or comment.customer_id)
        lines = (
            {"role": "customer", "text": f"[comment under our post] {comment.text}", "at": comment.at_ms},
            {"role": "bot", "text": reply, "at": now_ms},
        )
        await self._scripts.run(
            "settle_comment",
            waiting.id,
            "sent",
            0,
            contact.conversation_id,
            contact.channel.value,
            contact.account_id,
            contact.customer_id,
            key_of("echo", mid),
            *(orjson.dumps(line).decode() for line in lines),
        )


def _waiting(key: str, raw: str | None) -> WaitingComment | None:
    """None for a line that another version has written, or that was damaged."""
    try:
        body: dict[str, Any] = orjson.loads(raw or "")
        comment = Comment(
            Channel(body["channel"]), body["account"], body["comment"], body["customer"], int(body["at"]), body["text"]
        )
        return WaitingComment(key, comment, int(body.get("tries", 0)))
    except (ValueError, KeyError, TypeError):
        return None
