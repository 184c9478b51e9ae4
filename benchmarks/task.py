"""The turn that everybody plays in `benchmarks.turn`: the same words, history and tools, as plain values.

Imported under the peers' interpreters too, so it needs the standard library only.
"""

import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

QUESTION = "Здравствуйте! Можно записаться на этой неделе, и сколько это займёт времени?"
WORDS_IN_ANSWER = "Спасибо, что написали нам"
TOOL = "find_free_time"
TOOL_STEPS = 3
WARM_UP_TURNS = 5

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {"day": {"type": "string"}, "people": {"type": "integer"}},
                "required": ["day", "people"],
                "additionalProperties": False,
            },
        },
    }
    for name, description in (
        (TOOL, "Free times of a day for so many people."),
        ("find_trainer", "Who works on a day."),
        ("find_price", "What a visit of so many people costs on a day."),
    )
]


def find(day: str, people: int) -> str:
    """What every tool says."""
    return f"{day}: free at 10:00, 12:30 and 18:00 for {people}"


def history(lines: int) -> list[tuple[str, str]]:
    """(user | assistant, text), oldest first; about a hundred letters each."""
    ask = "Подскажите, пожалуйста, есть ли у вас что-нибудь для начинающих по вечерам, вопрос номер"
    say = "Да, конечно: по вечерам занимаются спокойные группы, подробности расскажет тренер, ответ номер"
    return [("user", f"{ask} {i}") if i % 2 == 0 else ("assistant", f"{say} {i}") for i in range(lines)]


def system_prompt() -> str:
    """The product's own, written into a file by the benchmark, so that everybody sends the same bytes."""
    return Path(sys.argv[5]).read_text(encoding="utf-8")


def arguments() -> tuple[str, str, int, int]:
    """Address, "plain" or "tools", lines of history, turns."""
    return sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


async def measure(turn: Callable[[], Awaitable[str]], turns: int) -> dict[str, float]:
    """CPU and wall milliseconds a turn, one after another; raises when a turn did not bring the answer."""
    for _ in range(WARM_UP_TURNS):
        await turn()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(turns):
        answer = await turn()
        if WORDS_IN_ANSWER not in answer:
            raise RuntimeError(f"not the answer: {answer[:200]}")
    return {
        "cpu_ms": (time.process_time() - cpu) / turns * 1000,
        "wall_ms": (time.perf_counter() - wall) / turns * 1000,
        "rss_mb": peak_megabytes(),
    }


def peak_megabytes() -> float:
    """Not getrusage: its figure begins with the size of the parent process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def tell(result: dict[str, float]) -> None:
    print(json.dumps(result))  # noqa: T201 - its answer
