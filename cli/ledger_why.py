"""`nightshift ledger why`: everything that happened to one message, or to one conversation."""

import asyncio
import re
import sys

from cli.ledger import open_scripts, unreadable
from cli.ledger_words import explain, why_open
from cli.store import settings_with_store
from runtime.clock import local
from runtime.settings import Settings
from store.connection import StoreUnavailable
from store.ledger import Ledger, OpenMessage, Step


def run(*, mid: str) -> int:
    """0 when the ledger knows it; 1 when it does not, or cannot be read."""
    settings = settings_with_store()
    # Pasted from a log or a JSON body it may come with quotes, commas, line breaks.
    wanted = re.sub(r"[\s\"',]", "", mid)
    try:
        steps, waiting = asyncio.run(_read(settings, wanted))
    except StoreUnavailable as exc:
        return unreadable(exc)
    if not steps:
        sys.stderr.write("The ledger knows neither a message nor a conversation by this id.\n")
        return 1
    zone = settings.config.business.timezone
    for conversation in dict.fromkeys(step.conversation_id for step in steps if step.conversation_id):
        print(f"Conversation {conversation} (times: {zone})")
    several = len({step.key for step in steps if step.key}) > 1
    for step in steps:
        which = f"  {step.key or '-':<16}" if several else ""
        print(f"  {local(step.at_ms, zone):%d.%m.%Y %H:%M:%S}{which}  {explain(step)}")
    for message in waiting:
        print(f"  open: {why_open(message, zone)}")
    return 0


async def _read(settings: Settings, wanted: str) -> tuple[list[Step], list[OpenMessage]]:
    async with open_scripts(settings) as scripts:
        ledger = Ledger(scripts)
        steps = await ledger.why(wanted)
        keys = {(step.conversation_id, step.key) for step in steps if step.key}
        waiting = [m async for m in ledger.open_messages() if (m.conversation_id, m.key) in keys]
    return steps, waiting
