"""The same turn with pydantic-ai."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.task import QUESTION, arguments, find, history, measure, system_prompt, tell


def find_free_time(day: str, people: int) -> str:
    """Free times of a day for so many people."""
    return find(day, people)


def find_trainer(day: str, people: int) -> str:
    """Who works on a day."""
    return find(day, people)


def find_price(day: str, people: int) -> str:
    """What a visit of so many people costs on a day."""
    return find(day, people)


async def main() -> None:
    url, kind, lines, turns = arguments()
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{url}/{kind}", api_key="key"))
    agent = Agent(model, instructions=system_prompt(), tools=[find_free_time, find_trainer, find_price])
    past: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(text)]) if role == "user" else ModelResponse(parts=[TextPart(text)])
        for role, text in history(lines)
    ]

    async def turn() -> str:
        return (await agent.run(QUESTION, message_history=past)).output

    tell(await measure(turn, turns))


asyncio.run(main())
