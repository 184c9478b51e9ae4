"""The same turn with langchain's agent (langgraph)."""

import asyncio

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from benchmarks.task import QUESTION, arguments, find, history, measure, system_prompt, tell


@tool
def find_free_time(day: str, people: int) -> str:
    """Free times of a day for so many people."""
    return find(day, people)


@tool
def find_trainer(day: str, people: int) -> str:
    """Who works on a day."""
    return find(day, people)


@tool
def find_price(day: str, people: int) -> str:
    """What a visit of so many people costs on a day."""
    return find(day, people)


async def main() -> None:
    url, kind, lines, turns = arguments()
    model = ChatOpenAI(model="m", base_url=f"{url}/{kind}", api_key="key")
    agent = create_agent(model, tools=[find_free_time, find_trainer, find_price], system_prompt=system_prompt())
    past: list[BaseMessage] = [
        HumanMessage(text) if role == "user" else AIMessage(text) for role, text in history(lines)
    ]

    async def turn() -> str:
        state = await agent.ainvoke({"messages": [*past, HumanMessage(QUESTION)]})
        return str(state["messages"][-1].content)

    tell(await measure(turn, turns))


asyncio.run(main())
