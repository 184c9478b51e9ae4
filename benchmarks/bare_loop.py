"""The floor of a turn: the least agent loop that httpx allows. No retry, no check, no history, no deadline."""

import asyncio
import json
from typing import Any

import httpx

from benchmarks.task import QUESTION, TOOLS, arguments, find, history, measure, system_prompt, tell


async def answer(http: httpx.AsyncClient, url: str, system: str, lines: list[tuple[str, str]]) -> str:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        *({"role": role, "content": text} for role, text in lines),
        {"role": "user", "content": QUESTION},
    ]
    while True:
        response = await http.post(
            f"{url}/chat/completions",
            json={"model": "m", "messages": messages, "tools": TOOLS, "max_tokens": 8000},
            headers={"Authorization": "Bearer key"},
        )
        response.raise_for_status()
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        if not message.get("tool_calls"):
            return str(message["content"])
        messages.append(message)
        for call in message["tool_calls"]:
            result = find(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


async def main() -> None:
    url, kind, lines, turns = arguments()
    system, past = system_prompt(), history(lines)
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        tell(await measure(lambda: answer(http, f"{url}/{kind}", system, past), turns))


if __name__ == "__main__":
    asyncio.run(main())
