"""For a model that cannot call tools: what the customer asks is looked up for it, before it is asked."""

import json

from bot.model_output import ToolCall
from bot.text.urls import beginning_of
from worker.agent.agent_run import AgentRun
from worker.agent.tools import NOTHING_FOUND, SEARCH, ToolBox

LONGEST_QUERY = 400  # characters


async def look_up(run: AgentRun, tools: ToolBox) -> None:
    """Search the knowledge with the customer's own words, once a run; what is found is told as plain words."""
    if run.looked_up or SEARCH not in tools.names:
        return
    run.looked_up = True
    query = beginning_of(run.transcript.burst, LONGEST_QUERY)
    call = ToolCall("call_0", SEARCH, json.dumps({"query": query}, ensure_ascii=False))
    with run.span.tool(SEARCH):
        result = await tools.call(call)
    if result.ok and result.text != NOTHING_FOUND:
        run.transcript.add_found(f"{SEARCH} {call.arguments}", result.text)
