"""The request that these tests send."""

from dataclasses import replace

from clients.llm.client import Deadlines, ModelRequest
from sandbox.patience import PATIENCE_SECONDS

PATIENT = Deadlines(*[PATIENCE_SECONDS] * 4)
SYSTEM = {"role": "system", "content": "You are the assistant of an invented studio of ceramics."}
TOOL = {"type": "function", "function": {"name": "search_knowledge", "parameters": {"type": "object"}}}
REQUEST = ModelRequest("deepseek/deepseek-v4-pro", [SYSTEM, {"role": "user", "content": "Hello!"}])
WITH_TOOLS = replace(REQUEST, tools=[TOOL])
