"""Records that an older or a newer version has written are read as far as they are known."""

import orjson
import pytest

from bot.incoming.events import Channel, Contact
from runtime.clock import now_ms
from runtime.settings import Account, Settings
from store.accounts.ids import AccountIds, AccountIdStore
from store.scripts import Scripts
from store.turns.conversations import Claimed, Conversations
from tests.store.telling import answered

pytestmark = pytest.mark.anyio

ACCOUNT = Account(channel="instagram", id="17841400000000042")
CONTACT = Contact(Channel.INSTAGRAM, ACCOUNT.id, "9001000000000123")
CID = CONTACT.conversation_id


async def put(scripts: Scripts, fields: dict[str, str], line: dict[str, object], key: str = "k1") -> None:
    """An open message of a conversation, as another version may have written it, and handed out."""
    at = now_ms()
    await scripts.command("HSET", f"ns:c:{CID}", *(word for pair in fields.items() for word in pair))
    await scripts.command("RPUSH", f"ns:c:{CID}:inbox", f"1 {at} {key} {orjson.dumps(line).decode()}")
    await scripts.command("ZADD", f"ns:c:{CID}:seen", at, key)
    await scripts.command("ZADD", "ns:open", at, f"{CID} {key}")
    await scripts.command("HINCRBY", "ns:count", "received", 1)
    await scripts.command("ZADD", "ns:due", at, CID)
    await scripts.command("ZADD", "ns:handed", at, CID)


WHOSE = {"channel": "instagram", "account": ACCOUNT.id, "customer": CONTACT.customer_id}
OLDER_LINE: dict[str, object] = {"mid": "m1", "at": 1, "text": "Привет"}
NEWER_LINE: dict[str, object] = {
    **OLDER_LINE,
    "sticker": {"pack": 7},
    "media": [["hologram", "https://a/b", 0], ["image", "https://a/c", 0]],
    "notes": ["[picture]"],
}
NEWER = {"state": "pondering", "mood": "calm", "limited": "? ?", "revised": "0", "spent_day": "x", "spent": "y"}


@pytest.mark.parametrize(
    ("fields", "line"), [({}, OLDER_LINE), (NEWER, NEWER_LINE)], ids=["of an older version", "of a newer version"]
)
async def test_a_conversation_of_another_version_is_answered(
    scripts: Scripts, settings: Settings, fields: dict[str, str], line: dict[str, object]
) -> None:
    await scripts.command("RPUSH", f"ns:c:{CID}:history", '{"role":"robot","text":"beep","at":1,"tone":"warm"}', "{}")
    await put(scripts, {**WHOSE, **fields}, line)

    claimed = await Conversations(scripts, settings).claim(CID)
    assert isinstance(claimed, Claimed)
    lease, conversation = claimed.lease, claimed.conversation
    await answered(scripts, settings, lease, conversation)

    assert [message.text for message in conversation.messages] == ["Привет"]
    assert await scripts.command("HGET", "ns:count", "answered") == "1"
    assert await scripts.command("HGET", f"ns:c:{CID}", "state") == "rest"


async def test_ids_of_an_account_that_another_version_has_noted_are_read_or_asked_for_again(scripts: Scripts) -> None:
    await scripts.command("HSET", "ns:account_ids", "a", '{"id":"1","user_id":"2","page":"3"}', "b", '{"id":"1"}')

    assert await AccountIdStore(scripts).load() == {"a": AccountIds("1", "2")}
