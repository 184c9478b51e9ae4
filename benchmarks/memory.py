"""What one conversation weighs in Redis: twenty Cyrillic messages, real-length ids, all bookkeeping."""

import asyncio
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.posts import ACCOUNT, MID_LENGTH, customers
from benchmarks.report import Report, Scale
from bot.conversation import HistoryLine, PartState, PlanMeta
from bot.incoming.events import Contact, CustomerMessage, MessageKind
from bot.outcome import Outcome
from runtime.settings import Settings, load_settings
from sandbox.stack import Stack
from store.connection import connect
from store.incoming.inbox import Inbox, open_inbox
from store.keys import ALL_CONVERSATIONS, HANDED, LEDGER, conversation_key
from store.scripts import Scripts
from store.turns.conversations import Conversations
from store.turns.decisions import MaySend, NotClaimed

LETTERS = "Добрый вечер подскажите пожалуйста сколько стоит занятие для двоих и можно ли перенести его на субботу "
TEXT = (LETTERS * 3)[:200]
KILOBYTE = 1024


def run(scale: Scale, directory: Path) -> Report:
    report = Report("memory", "One conversation in Redis", ("bytes", "part"))
    with Stack(directory / "memory", processes=(), quiet=0, max_wait=0) as house:
        settings = _settings(house.environment)
        asyncio.run(_weigh(settings, scale, report))
    return report


def _settings(environment: dict[str, str]) -> Settings:
    """They are read from the process's own environment."""
    os.environ.update(environment)
    return load_settings()


async def _weigh(settings: Settings, scale: Scale, report: Report) -> None:
    client = connect(settings.env.redis_url, max_connections=8, timeout_seconds=10)
    inbox = open_inbox(settings, role="bench")
    people = [Contact(ACCOUNT.channel, ACCOUNT.id, who) for who in customers(scale.count(tiny=5, quick=100, full=500))]
    conversations = Conversations(Scripts(client), settings)
    try:
        # Scripts, buffers and the shared keys are there before the first conversation is weighed.
        await _talk(inbox, conversations, client, people)
        await client.delete(*[key async for key in client.scan_iter(ALL_CONVERSATIONS, count=10_000)])
        ledger = await _memory(client, [LEDGER])
        before = await _used(client)
        for _ in range(10):
            await _talk(inbox, conversations, client, people)
        shared = await _memory(client, [LEDGER]) - ledger
        whole = (await _used(client) - before - shared) / len(people)
        parts = await _parts(client, people)
        report.row("all of it, by the server's memory, without the ledger", whole, "")
        for name, size in parts.items():
            report.row(f"  {name}", size, f"{size / whole:.0%}")
        report.row("the ledger's entries of it (the ledger is bounded as a whole)", shared / len(people), "")
        history = conversation_key(people[0].conversation_id, "history")
        lines: Any = await client.lrange(history, 0, -1)
        report.row("the history's JSON", sum(len(line.encode()) for line in lines), "")
        report.at_most("a conversation of 20 messages, KB", whole / KILOBYTE, 20)
        report.at_most("history against its JSON", parts["history"] / sum(len(line.encode()) for line in lines), 1.25)
        await _grow(inbox, conversations, client, people[:20], parts, report)
    finally:
        await inbox.aclose()
        await client.aclose()


async def _grow(
    inbox: Inbox,
    conversations: Conversations,
    client: Any,
    people: Sequence[Contact],
    parts: dict[str, float],
    report: Report,
) -> None:
    """Three times as old: which keys have grown, the history aside."""
    for _ in range(10, 30):
        await _talk(inbox, conversations, client, people)
    older = await _parts(client, people)
    for name, size in older.items():
        report.row(f"  {name}, at 60 messages", size, f"x {size / parts.get(name, size):.2g}")
    rest = sum(size for name, size in older.items() if name != "history")
    rest_before = sum(size for name, size in parts.items() if name != "history")
    report.at_most("bytes that a message adds beside the history, within two days", (rest - rest_before) / 40, 40)
    report.notes.append(
        "seen holds the ids of 48 hours (Meta repeats an event for 36) and sent those of 7 days, at most 200: they "
        "grow with the busiest two days, not with age. After that they shrink to what is recent."
    )


async def _talk(inbox: Inbox, conversations: Conversations, client: Any, people: Sequence[Contact]) -> None:
    """One message of each, and an answer of the same length, by the product's own scripts."""
    now = int(time.time() * 1000)
    await inbox.receive([CustomerMessage(who, MessageKind.MESSAGE, _mid(), now, TEXT) for who in people])
    for who in people:
        cid = who.conversation_id
        await client.zadd(HANDED, {cid: now})
        claimed = await conversations.claim(cid)
        if isinstance(claimed, NotClaimed):
            raise RuntimeError(f"not claimed: {claimed}")  # noqa: TRY004 - no wrong type: its reason
        lease, conversation = claimed.lease, claimed.conversation
        conversation = (await lease.plan(conversation, [TEXT], PlanMeta(stage="CONSULT"))).conversation
        plan = conversation.plan
        if plan is None or await lease.begin_part(plan.id, 0, margin_seconds=5) != MaySend():
            raise RuntimeError("not sending")
        await conversations.record(cid, plan.id, 0, PartState.SENT, mid=_mid())
        lines = [HistoryLine.of(message) for message in conversation.messages] + [HistoryLine("bot", TEXT, now, part=0)]
        await lease.finish(Outcome.ANSWERED, plan.keys, lines=lines, fields={"stage": "CONSULT"})


def _mid() -> str:
    return secrets.token_urlsafe(MID_LENGTH)[:MID_LENGTH]


async def _parts(client: Any, people: Sequence[Contact]) -> dict[str, float]:
    """The memory of each kind of key, as a mean over the conversations."""
    sizes: dict[str, float] = {}
    for who in people:
        fields = conversation_key(who.conversation_id)
        keys = [key async for key in client.scan_iter(f"{fields}*", count=10_000)]
        for key in keys:
            name = key.removeprefix(fields).lstrip(":") or "fields"
            sizes[name] = sizes.get(name, 0) + await _memory(client, [key]) / len(people)
    return sizes


async def _memory(client: Any, keys: Sequence[str]) -> int:
    return sum([int(await client.memory_usage(key, samples=0) or 0) for key in keys])


async def _used(client: Any) -> int:
    return int((await client.info("memory"))["used_memory"])
