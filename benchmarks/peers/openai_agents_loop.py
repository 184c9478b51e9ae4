"""The same turn with openai-agents."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from benchmarks.task import QUESTION, arguments, find, history, measure, system_prompt, tell


@function_tool
def find_free_time(day: str, people: int) -> str:
    """Free times of a day for so many people."""
    return find(day, people)


@function_tool
def find_trainer(day: str, people: int) -> str:
    """Who works on a day."""
    return find(day, people)


@function_tool
def find_price(day: str, people: int) -> str:
    """What a visit of so many people costs on a day."""
    return find(day, people)


async def main() -> None:
    url, kind, lines, turns = arguments()
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=f"{url}/{kind}", api_key="key"))
    tools = [find_free_time, find_trainer, find_price]
    agent = Agent(name="bench", instructions=system_prompt(), model=model, tools=tools)
    past = [{"role": role, "content": text} for role, text in history(lines)]

    async def turn() -> str:
        result = await Runner.run(agent, [*past, {"role": "user", "content": QUESTION}])
        return str(result.final_output)

    tell(await measure(turn, turns))


asyncio.run(main())
