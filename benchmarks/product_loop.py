"""The product's own agent, as the worker builds it, playing the turn of `benchmarks.task`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import uvloop

from benchmarks.task import QUESTION, TOOLS, arguments, find, history, measure, tell
from bot.conversation import Conversation, HistoryLine, OpenMessage
from bot.incoming.events import Channel, Contact
from runtime.clock import local, monotonic, now_ms
from runtime.settings import Account, Settings, load_settings
from worker.agent.agent import Budget
from worker.agent.tool_arguments import Arguments
from worker.agent.tools import Tool, ToolBox
from worker.services import Services, build_services
from worker.texts import load_texts

CONTACT = Contact(Channel.INSTAGRAM, "17841400000000042", "9010000000000001")


@asynccontextmanager
async def at_home(settings: Settings, *, own_tools: bool = True) -> AsyncIterator[Services]:
    """The worker's house; with `own_tools` the model is offered the tools of the task instead of the product's."""
    texts = load_texts(settings)
    house = await build_services(settings, replace(texts, tools=_tools()) if own_tools else texts)
    try:
        yield house
    finally:
        await house.aclose()


class _Visit(Arguments):
    day: str
    people: int


def _tools() -> ToolBox:
    async def run(visit: _Visit) -> str:
        return find(visit.day, visit.people)

    return ToolBox(
        [
            Tool(name=f["name"], description=f["description"], arguments=_Visit, run=run, outside=False)
            for f in (spec["function"] for spec in TOOLS)
        ]
    )


def conversation(lines: int, contact: Contact = CONTACT) -> Conversation:
    now = now_ms()
    return Conversation(
        id=contact.conversation_id,
        contact=contact,
        rev="1",
        messages=(OpenMessage("key", "mid", now, now, QUESTION),),
        history=tuple(
            HistoryLine("customer" if role == "user" else "bot", text, now - 60_000) for role, text in history(lines)
        ),
        plan=None,
        now_ms=now,
        stage="CONSULT",
    )


def account_of(house: Services, contact: Contact = CONTACT) -> Account:
    account = house.settings.account(contact.channel, contact.account_id)
    if account is None:
        raise RuntimeError(f"the configuration has no account {contact.account_id}")
    return account


def system_prompt(house: Services) -> str:
    business = house.settings.config.business
    return house.prompts(account_of(house)).system(
        stage="CONSULT",
        now_local=local(now_ms(), business.timezone).strftime("%A %Y-%m-%d, about %H:00"),
        business_name=business.name,
        timezone=business.timezone,
        lead_fields=house.settings.config.leads.fields,
    )


async def main() -> None:
    _, kind, lines, turns = arguments()
    settings = load_settings()
    async with at_home(settings) as house:
        system = system_prompt(house)
        talk = conversation(lines)
        seconds = settings.config.turn.budget_seconds
        agent = house.agent(account_of(house))

        async def turn() -> str:
            result = await agent.run(talk, system=system, budget=Budget(seconds, monotonic() + seconds))
            steps = 1 if kind == "plain" else 4
            if result.reply is None or len(result.attempts) != steps:
                raise RuntimeError(f"{len(result.attempts)} steps, {result.rule or 'no rule'}")
            return result.reply.text

        tell(await measure(turn, turns))


async def write_prompt() -> None:
    async with at_home(load_settings()) as house:
        sys.stdout.write(system_prompt(house))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as the worker's loop
        runner.run(write_prompt() if sys.argv[1:2] == ["prompt"] else main())
