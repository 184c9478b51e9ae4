"""Private replies to comments: what one worker does not know, it leaves to the others."""

import pytest

from bot.incoming.events import Comment
from runtime.clock import now_ms
from store.outboxes.comments import CommentOutbox
from tests.worker.turning import OTHER_ACCOUNT, TurnBench
from worker.comments.private_replies import PrivateReplies

pytestmark = pytest.mark.anyio


async def test_a_comment_of_an_account_that_this_worker_does_not_have_is_left_to_the_others(turns: TurnBench) -> None:
    outbox = CommentOutbox(turns.scripts)
    contact = turns.contact
    for name, at_ms in (("young", now_ms()), ("old", now_ms() - 2 * 3_600_000)):
        await outbox.note(Comment(contact.channel, contact.account_id, name, contact.customer_id, at_ms, "цена?"))
    for waiting in await turns.scripts.command("ZRANGE", "ns:comments:due", 0, -1):
        await turns.scripts.command("ZADD", "ns:comments:due", 1, waiting)  # due by any clock
    older = turns.another(config={"accounts": (OTHER_ACCOUNT,)})
    replies = PrivateReplies(
        outbox,
        settings=older.settings,
        graph=older.graph,
        pacing=older.pacing,
        parking=older.parking,
        now_ms=older.now_ms,
    )

    assert await replies.send_due() == 0

    left = await turns.scripts.command("HVALS", "ns:comments")
    assert [line for line in left if "young" in line] == left
    assert len(left) == 1
