"""A step in which the model called tools: all its calls at once, and when the run has used enough of them."""

import asyncio
from dataclasses import replace

from bot.model_output import Completion, ToolCall
from worker.agent.agent_run import AgentRun
from worker.agent.tools import ToolBox, ToolResult

REPEATED_CALLS = 3  # the same call with the same arguments this often forces the last step
UNKNOWN_TOOLS = 2


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


async def _run_tool(run: AgentRun, tools: ToolBox, call: ToolCall) -> ToolResult:
    with run.span.tool(call.name if call.name in tools.names else "unknown"):
        return await tools.call(call)
