"""The tools of a run: all calls of one step at once, and the look-up made for a model that cannot call tools."""

import asyncio
import json
from dataclasses import replace

from bot.model_output import Completion, ToolCall
from bot.text.urls import beginning_of
from worker.agent.agent_run import AgentRun
from worker.agent.tools import NOTHING_FOUND, SEARCH, ToolBox, ToolResult

REPEATED_CALLS = 3  # the same call with the same arguments this often forces the last step
UNKNOWN_TOOLS = 2
LONGEST_QUERY = 400  # characters


async def run_tools(run: AgentRun, tools: ToolBox, completion: Completion) -> None:
    """A broken or repeated call is met with words for the model, never with silence."""
    calls = [
        call if call.id else replace(call, id=f"call_{run.step}_{index}")
        for index, call in enumerate(completion.tool_calls)
    ]
    results = await asyncio.gather(*(_run_tool(run, tools, call) for call in calls))
    run.transcript.add_tool_step(completion.raw_message, calls, [result.text for result in results])
    run.needs_more_tokens = run.needs_more_tokens or completion.finish_reason == "length"
    for call in calls:
        signature = (call.name, call.arguments.strip())
        run.calls[signature] = run.calls.get(signature, 0) + 1
        run.must_answer = run.must_answer or run.calls[signature] >= REPEATED_CALLS
        run.unknown_tools += call.name not in tools.names
    run.must_answer = run.must_answer or run.unknown_tools >= UNKNOWN_TOOLS
    run.step += 1
    run.found_something()


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


async def _run_tool(run: AgentRun, tools: ToolBox, call: ToolCall) -> ToolResult:
    with run.span.tool(call.name if call.name in tools.names else "unknown"):
        return await tools.call(call)
