"""Every payload that Meta is known to send, from its bytes to the books: what becomes of it, and of nothing else."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from bot.messages import Channel
from runtime.clock import now_ms
from runtime.conversations import Conversations
from runtime.inbox import Inbox
from runtime.ledger import Ledger
from runtime.schedule import Schedule
from runtime.scripts import Scripts
from runtime.settings import Account, Settings
from webhooks.accounts import Accounts
from webhooks.payloads import parse_body
from webhooks.translate import translate

pytestmark = pytest.mark.anyio

PAYLOADS = Path(__file__).parent.parent / "payloads"
ACCOUNTS = (
    Account(channel=Channel.INSTAGRAM, id="17841400000000042", page_id="104400000000001"),
    Account(channel=Channel.MESSENGER, id="104400000000001"),
)


@dataclass(frozen=True, slots=True)
class Answered:
    """Due for a turn; `words` is the model's prompt, "" where a fixed line answers instead."""

    words: str


@dataclass(frozen=True, slots=True)
class Silenced:
    reason: str


@dataclass(frozen=True, slots=True)
class HumanAtWork:
    """No message; whoever wrote or took the thread keeps the bot out. `words` enter the history."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Counted as `event`; no message, no conversation held."""

    event: str


@dataclass(frozen=True, slots=True)
class Told:
    """The managers hear of it."""

    alert: str


End = Answered | Silenced | HumanAtWork | Nothing | Told

ENDS: dict[str, End] = {
    "I01": Answered("Is the blue one in stock?"),
    "I02": Answered("[photo]\n[photo]"),
    "I03": Answered('[shared post: "Caption of the post"]'),
    "I04": Answered("[shared post]"),
    "I05": Answered('[reel: "Reel caption"]'),
    "I06": Answered("[mentioned us in a story]"),
    "I07": Answered("[shared story]"),
    "I08": Answered(""),
    "I09": Answered(""),
    "I10": Answered('[link: "A page"]\nhttps://example.invalid/a'),
    "I11": Answered("[reply to our story]\nLove it!"),
    "I12": Answered("[quotes an earlier message]\nthis one"),
    "I13": Answered("[button: CONFIRM_YES]\nYes"),
    "I14": Answered('[came from an ad: "Spring sale"]\n[referral: spring]\nHi'),
    "I15": Answered("[product: 5500000000000001]\nSize?"),
    "I16": HumanAtWork("We answer from 9"),
    "I17": HumanAtWork('[card: "Card"]'),
    "I18": Silenced("self"),
    "I19": Nothing("deletion"),
    "I20": Nothing("edit"),
    "I21": Nothing("ghost_edit"),
    "I22a": Nothing("reaction"),
    "I22b": Nothing("reaction"),
    "I23": Nothing("read"),
    "I24": Answered("[button: HOURS]\nOpening hours"),
    "I25": Nothing("referral"),
    "I26": Silenced("standby"),
    "I27": Nothing("test_event"),
    "I28": Nothing("test_event"),
    "I29": Nothing("comment"),
    "I30": Nothing("mention"),
    "M01": Answered("Hello"),
    "M02": Answered("[sticker]"),
    "M03a": Answered('[link: "A video"]\nsee https://example.invalid/v'),
    "M03b": Nothing("own_echo"),
    "M04": Answered('[shared post: "Post title"]'),
    "M05": Answered("[location: 50.1, 8.6]"),
    "M06a": Answered('[product: "Mug"]'),
    "M06b": Answered("[appointment: requested, 2026-09-22 18:00 UTC]"),
    "M07": Nothing("own_echo"),
    "M08": HumanAtWork("Hi, Maria here"),
    "M09a": Nothing("delivery"),
    "M09b": Nothing("read"),
    "M10": Nothing("reaction"),
    "M11": Nothing("edit"),
    "M12": Answered("[referral: qr-1]\n[button: GET_STARTED]\nGet Started"),
    "M13": Silenced("standby"),
    "M14": Nothing("referral"),
    "M15a": Nothing("referral"),
    "M15b": Nothing("lead_summary"),
    "M16a": Nothing("pass_thread_control"),
    "M16b": HumanAtWork(),
    "M16c": Nothing("request_thread_control"),
    "M16d": Nothing("app_roles"),
    "M17": Nothing("optin"),
    "M18": Told("account:messenger:104400000000001:policy_block"),
    "M19a": Nothing("account_linking"),
    "M19b": Nothing("response_feedback"),
    "M19c": Nothing("order"),
    "M20": Nothing("comment"),
    "M21a": Answered("flights to Bonn"),
    "M21b": Answered("[button: START]\nStart"),
}


@pytest.mark.parametrize("name", sorted(ENDS))
async def test_a_payload_comes_to_its_end(name: str, scripts: Scripts, settings: Settings) -> None:
    events = translate(parse_body((PAYLOADS / f"{name}.json").read_bytes()), Accounts(ACCOUNTS), now_ms())

    await Inbox(scripts, settings).receive(events)

    books = await Ledger(scripts).sums()
    assert books.balanced
    counted = {name: n for name, n in books.as_json().items() if n and name in ("received", "silenced", "open")}
    due = (await Schedule(scripts).pop_due(limit=10, quota=10)).conversation_ids
    match ENDS[name]:
        case Answered(words):
            assert counted == {"received": 1, "open": 1}
            [conversation_id] = due
            claimed = await Conversations(scripts, settings).claim(conversation_id)
            assert not isinstance(claimed, str)
            [message] = claimed[1].messages
            assert message.needs_text == (not words)
            assert message.for_model == (words or "[unsupported message]")
        case Silenced(reason):
            assert counted == {"received": 1, "silenced": 1}
            assert due == ()
            assert [why for event, why in await ledger_events(scripts) if event == "silenced"] == [reason]
        case HumanAtWork(words):
            assert (counted, due) == ({}, ())
            [conversation] = await conversations(scripts)
            assert int(conversation["takeover_until"]) > 0
            assert await history(scripts) == ([f"business: {words}"] if words else [])
        case Nothing(event):
            assert (counted, due) == ({}, ())
            assert not any(int(c.get("takeover_until", 0)) for c in await conversations(scripts))
            assert await scripts.command("HGET", "ns:events", event) == "1"
        case Told(alert):
            assert (counted, due) == ({}, ())
            assert await scripts.command("HKEYS", "ns:alerts") == [alert]


def test_every_payload_has_its_end() -> None:
    assert sorted(path.stem for path in PAYLOADS.glob("*.json")) == sorted(ENDS)


@pytest.mark.parametrize("name", sorted(ENDS))
async def test_a_payload_sent_again_changes_nothing(name: str, scripts: Scripts, settings: Settings) -> None:
    events = translate(parse_body((PAYLOADS / f"{name}.json").read_bytes()), Accounts(ACCOUNTS), now_ms())
    inbox = Inbox(scripts, settings)
    await inbox.receive(events)
    before = (await Ledger(scripts).sums()).as_json(), await history(scripts), await alert_counts(scripts)

    await inbox.receive(events)

    after = (await Ledger(scripts).sums()).as_json(), await history(scripts), await alert_counts(scripts)
    for books in (before[0], after[0]):
        books.pop("oldest_open_seconds")
    assert after == before


async def ledger_events(scripts: Scripts) -> list[tuple[str, str]]:
    rows: Any = await scripts.client.xrange("ns:ledger")
    return [(fields["e"], fields["w"]) for _, fields in rows]


async def conversations(scripts: Scripts) -> list[dict[str, str]]:
    names = [str(name) async for name in scripts.client.scan_iter(match="ns:c:*", _type="HASH")]
    found: list[Any] = [await scripts.client.hgetall(name) for name in names if name.count(":") == 2]
    return found


async def history(scripts: Scripts) -> list[str]:
    found: list[str] = []
    async for name in scripts.client.scan_iter(match="ns:c:*:history"):
        for raw in await scripts.client.lrange(name, 0, -1):
            line = orjson.loads(raw)
            found.append(f"{line['role']}: {line['text']}")
    return found


async def alert_counts(scripts: Scripts) -> list[int]:
    return [orjson.loads(body)["count"] for body in await scripts.client.hvals("ns:alerts")]
