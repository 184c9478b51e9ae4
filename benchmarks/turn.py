"""What a turn costs beside the model's own time: our agent, a bare httpx loop, and the agent libraries."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import answers, python, run_json, started
from benchmarks.report import Report, Scale, median, ratio, spread
from sandbox.ports import reserved_port
from sandbox.stack import ROOT, Stack

OURS = "Nightshift's agent"
BARE = "bare httpx loop (60 lines, nothing checked)"
PEERS = {"pydantic-ai": "pydantic_ai_loop", "openai-agents": "openai_agents_loop", "langchain": "langchain_loop"}
CASES = (("plain", 10), ("tools", 10), ("plain", 100), ("tools", 100))


@contextmanager
def other_side(directory: Path, *arguments: object, scheme: str = "http") -> Iterator[str]:
    """The address of a fake model and Graph API in a process of their own."""
    log = directory / "other-side.log"
    program = "benchmarks.programs.other_side"
    with reserved_port() as port, started(python(program, port, *arguments), log=log) as process:
        url = f"{scheme}://127.0.0.1:{port}"
        answers(f"{url}/arrivals", process, log=log)
        yield url


def run(scale: Scale, directory: Path) -> Report:
    report = Report(
        "turn",
        "One turn without the model's time (CPU and wall of the process that plays it)",
        ("CPU ms", "range", "wall ms", "peak RSS MB", "CPU x bare"),
    )
    players: dict[str, list[str]] = {OURS: python("benchmarks.product_loop"), BARE: python("benchmarks.bare_loop")}
    for peer, module in PEERS.items():
        if _has(
            scale.peers_python, f"import benchmarks.task, {peer.replace('-', '_').replace('openai_agents', 'agents')}"
        ):
            players[peer] = python(f"benchmarks.peers.{module}", interpreter=scale.peers_python)
        else:
            report.notes.append(f"{peer}: skipped, the interpreter of --peers does not have it.")
    with Stack(directory / "turn", processes=(), locale="ru") as house, other_side(directory) as url:
        cases = CASES[: scale.count(tiny=2, quick=len(CASES), full=len(CASES))]
        figures = _play(scale, players, cases, house, url, directory)
    for case in cases:
        for player in players:
            cpu = [f["cpu_ms"] for f in figures[player, case]]
            report.row(
                f"{player}, {case[0]}, {case[1]} messages of history",
                median(cpu),
                spread(cpu),
                median([f["wall_ms"] for f in figures[player, case]]),
                median([f["rss_mb"] for f in figures[player, case]]),
                ratio(cpu, [f["cpu_ms"] for f in figures[BARE, case]]),
            )
    _judge(report, {key: [f["cpu_ms"] for f in values] for key, values in figures.items()}, players)
    report.notes.append(
        "Ours streams, keeps deadlines and checks every answer; the others ask for one piece of JSON, unchecked. "
        "All send the product's system prompt; ours sends the last 30 lines of history, the others all of it."
    )
    return report


def _play(
    scale: Scale,
    players: dict[str, list[str]],
    cases: Sequence[tuple[str, int]],
    house: Stack,
    url: str,
    directory: Path,
) -> dict[tuple[str, tuple[str, int]], list[dict[str, float]]]:
    prompt = directory / "system.txt"
    settings = house.environment | {"OPENAI_API_KEY": "key", "LANGSMITH_TRACING": "false"}
    prompt.write_bytes(
        subprocess.run(  # noqa: S603 - our own command
            python("benchmarks.product_loop", "prompt"), env=settings, cwd=ROOT, capture_output=True, check=True
        ).stdout
    )
    figures: dict[tuple[str, tuple[str, int]], list[dict[str, float]]] = {}
    for round_ in range(scale.count(tiny=1, quick=2, full=5)):
        for kind, lines in cases:
            for player in list(players)[:: 1 if round_ % 2 else -1]:
                cheap = player in (OURS, BARE)
                turns = scale.count(tiny=5, quick=80, full=200) // (1 if cheap else 5)
                command = [*players[player], url, kind, str(lines), str(turns), str(prompt)]
                env = settings | {"LLM_API_URL": f"{url}/{kind}"}
                figures.setdefault((player, (kind, lines)), []).append(run_json(command, env=env))
    return figures


def _judge(report: Report, cpu: dict[tuple[str, tuple[str, int]], list[float]], players: dict[str, list[str]]) -> None:
    for case in CASES[:2]:
        ours = cpu[OURS, case]
        report.at_most(f"CPU against the bare httpx loop, {case[0]}", ratio(ours, cpu[BARE, case]), 1.2)
        for peer in players:
            if peer not in (OURS, BARE):
                report.at_most(f"CPU against {peer}, {case[0]}", ratio(ours, cpu[peer, case]), 0.2)
    for kind in [kind for kind, lines in CASES if lines == 100 and (OURS, (kind, lines)) in cpu]:
        grown = ratio(cpu[OURS, (kind, 100)], cpu[OURS, (kind, 10)])
        report.at_most(f"100 messages of history against 10, {kind}", grown, 2)


def _has(interpreter: str, imports: str) -> bool:
    if not interpreter:
        return False
    return subprocess.run([interpreter, "-c", imports], cwd=ROOT, capture_output=True, check=False).returncode == 0  # noqa: S603
