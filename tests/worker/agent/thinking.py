"""The real agent with the real client against the model's stand-in: what its tests have in common."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import httpx
from starlette.responses import Response

from bot.agent.ladder import Rung, default_ladder
from bot.conversation import Conversation, HistoryLine, OpenMessage
from bot.incoming.events import Channel, Contact
from clients.llm.client import LLMClient
from runtime import clock
from runtime.config import CustomerLimits
from runtime.files.prompts import PromptSet, load_prompts
from runtime.settings import Model
from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.faults import TAGS, Fault
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from sandbox.server import SandboxServer
from store.spending import Spending
from tests.rooms import ROOT
from worker.agent.agent import Agent, AgentResult, Budget
from worker.agent.cost_cap import Prices
from worker.agent.knowledge import load_knowledge
from worker.agent.tools import ToolBox, search_tool

MAIN, FALLBACK = Model().name, Model().fallback
RESCUE = "Здравствуйте! Для подарка подойдёт кружка ручной работы, рассказать подробнее?"
QUESTION = "Здравствуйте! Хочу выбрать кружку в подарок, что посоветуете?"


@cache
def prompts() -> PromptSet:
    return load_prompts(ROOT / "prompts", "ru")


@cache
def toolbox() -> ToolBox:
    return ToolBox([search_tool(load_knowledge(ROOT / "knowledge"))])


def asked(text: str = QUESTION, *, history: Sequence[HistoryLine] = (), scratchpad: str = "") -> Conversation:
    message = OpenMessage("k1", "m_invented_1", 1_000, 1_000, text)
    contact = Contact(Channel.INSTAGRAM, "17841400000000042", "900000000000001")
    return Conversation("c0ffee", contact, "1", (message,), tuple(history), None, 3_000, scratchpad=scratchpad)


def good(text: str = RESCUE) -> Answer:
    return Answer(content=f"{text}\n{TAGS}")


def whole(fault: Fault) -> Callable[[ChatRequest], Response]:
    """The same fault from a server that does not stream, whatever it was asked for."""
    return lambda request: fault.respond(replace(request, body={**request.body, "stream": False}))


class Bench:
    def __init__(self, http: httpx.AsyncClient, model: ModelStandIn, server: SandboxServer) -> None:
        self.http = http
        self.url = server.url
        self.model = model

    def client(self, on_learned: Callable[[str, str], None] = lambda _model, _what: None) -> LLMClient:
        return LLMClient(self.http, base_url=self.url, api_key="sk-invented-key", on_learned=on_learned)

    async def run(
        self,
        conversation: Conversation | None = None,
        *,
        seconds: float = PATIENCE_SECONDS,
        ladder: Sequence[Rung] | None = None,
        spending: Spending | None = None,
        prices: Prices | None = None,
        on_found: Callable[[str], None] = lambda _: None,
        llm: LLMClient | None = None,
        limits: CustomerLimits | None = None,
        **settings: Any,
    ) -> AgentResult:
        """One turn's thinking with `[model]` as given; `llm` has learned what it has in earlier turns."""
        model = Model(**settings)
        agent = Agent(
            llm or self.client(),
            model=model,
            ladder=ladder
            or default_ladder(
                main=model.name, fallback=model.fallback, max_kicks=model.max_kicks, salvage=model.salvage
            ),
            prompts=prompts(),
            tools=toolbox(),
            clock=clock.monotonic,
            spending=spending,
            prices=prices,
            limits=limits,
        )
        system = prompts().system(
            stage="NEW", now_local="Monday morning", business_name="Demo Studio", timezone="Europe/Moscow"
        )
        budget = Budget(seconds, clock.monotonic() + seconds)
        return await agent.run(conversation or asked(), system=system, budget=budget, on_found=on_found)


SEARCH = Answer(tool_calls=[tool_call("search_knowledge", {"query": "кружка"})], finish_reason="tool_calls")


def searching(number: int) -> Answer:
    call = tool_call("search_knowledge", {"query": f"кружка {number}"}, call_id=f"call_{number}")
    return replace(SEARCH, tool_calls=[call])


def text_of(request: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in request["messages"])


def costing(dollars: float, answer: Answer) -> Answer:
    return replace(answer, usage={"prompt_tokens": 10, "completion_tokens": 10, "cost": dollars})
