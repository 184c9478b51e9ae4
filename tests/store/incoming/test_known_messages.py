"""A message that is read back from Meta is new, or in the books already."""

import pytest

from bot.incoming.events import CustomerMessage, MessageKind
from runtime.clock import now_ms
from runtime.settings import Settings
from store.hashing import bare_hash, key_of, text_hash
from store.incoming.known_messages import Known, KnownMessages
from store.scripts import Scripts
from tests.store.turns.takeover.bench import CONTACT, Bench, human, message

pytestmark = pytest.mark.anyio

CID = CONTACT.conversation_id


@pytest.fixture
def bench(scripts: Scripts, settings: Settings) -> Bench:
    return Bench(scripts, settings)


async def test_what_is_known_of_each_message(bench: Bench, scripts: Scripts) -> None:
    await bench.receive(message("a"), human("b"))
    await bench.receive(CustomerMessage(CONTACT, MessageKind.POSTBACK, "c", now_ms(), "Часы"))
    await scripts.command("ZADD", f"ns:c:{CID}:sent", now_ms(), key_of("echo", "d"))

    known = await KnownMessages(scripts).look(CID, [(mid, "", "") for mid in "abcde"])

    assert known == [Known.MESSAGE, Known.ECHO, Known.MESSAGE, Known.OURS, Known.NOT]


async def test_what_may_have_been_sent_is_ours_by_its_words_or_its_kind(scripts: Scripts) -> None:
    await scripts.command("ZADD", f"ns:c:{CID}:maybe", now_ms(), text_hash("Да, есть."), now_ms(), bare_hash("image"))

    known = await KnownMessages(scripts).look(
        CID, [("a", "Да, есть.", ""), ("b", "", "image"), ("c", "Нет.", ""), ("d", "", "video")]
    )

    assert known == [Known.OURS, Known.OURS, Known.NOT, Known.NOT]


async def test_of_no_messages_nothing_is_asked(scripts: Scripts) -> None:
    assert await KnownMessages(scripts).look(CID, []) == []
