"""The demo as its viewers start it: a process of its own, with its output in a file."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.model.answers import Answer
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from tests.rooms import COMMANDS, PRODUCT, ROOT
from tests.waiting import wait_until

SOURCES = (*PRODUCT, *COMMANDS, "knowledge", "prompts")
LEDGER = r"\D+".join(
    (
        *("7 +received", "= 6 +answered", r"\+ 1 +handed over"),
        *(rf"\+ 0 +{name}" for name in ("silenced", "undeliverable", "expired", "open")),
    )
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]


class Demo:
    """A running demo whose temporary files lie in `folder`, by which its processes are known."""

    def __init__(
        self, folder: Path, *options: str, cwd: Path = ROOT, python: Path | None = None, script: str = "", **env: str
    ) -> None:
        self.folder = folder
        self.temporary = folder / "temporary files"
        self.temporary.mkdir(parents=True)
        self._log = folder / "output.log"
        what = ["-c", script] if script else ["-m", "cli.main", "demo", "--fast", *options]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [python or sys.executable, *what],
                cwd=cwd,
                env={
                    "PATH": "/usr/bin:/bin",
                    "PYTHONPATH": "" if python else str(ROOT),
                    "HOME": "/proc/no-home",  # nobody can write there, not even root
                    "TMPDIR": str(self.temporary),
                    **env,
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def part(self, number: int) -> str:
        """A scene with all its output."""
        start = re.search(rf"(?m)^{number}\. ", self.output)
        assert start, f"no scene {number} in:\n{self.output}"
        return re.split(r"(?m)^\d\. |^The ledger ", self.output[start.end() :])[0]

    def wait_for(self, text: str) -> None:
        def has_come() -> bool:
            assert text in self.output or self.process.poll() is None, self.output
            return text in self.output

        wait_until(has_come, lambda: f"{text!r}; so far:\n{self.output}")

    def end(self, seconds: float = 4 * PATIENCE_SECONDS) -> int:
        return self.process.wait(seconds)

    def left_behind(self) -> list[str]:
        """Living processes of this demo: its folder is in their environment, or, as Valkey's, where they work."""
        found = []
        for proc in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                traces = (proc / "environ").read_bytes() + os.fsencode((proc / "cwd").readlink())
                if os.fsencode(self.folder) in traces:
                    found.append((proc / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


@pytest.fixture
def demos() -> Iterator[list[Demo]]:
    """Those started by a test; each must have cleaned up after itself as soon as it has ended."""
    started: list[Demo] = []
    yield started
    left = {}
    for demo in started:
        if demo.process.poll() is None:
            demo.process.kill()
            demo.process.wait()
        else:
            left[demo.folder] = demo.left_behind()
    assert not any(left.values())


def a_copy_of_the_project(folder: Path) -> Path:
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Procfile", "nightshift.toml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def test_two_at_a_time_show_what_was_promised(tmp_path: Path, demos: list[Demo]) -> None:
    """One of them in a path with a space, each in its own language."""
    copy = a_copy_of_the_project(tmp_path / "night shift")
    russian = Demo(tmp_path / "ru", cwd=copy, python=copy / ".venv/bin/python")
    english = Demo(tmp_path / "en", "--locale", "en", NO_COLOR="1")
    demos += [russian, english]

    for demo in demos:
        assert demo.end() == 0, demo.output
        assert not list(demo.temporary.iterdir())
        assert demo.output.count("✓ As promised") == 5
        assert "✗" not in demo.output
        assert "\x1b" not in demo.output
        assert max(map(len, demo.output.splitlines())) <= 80
        assert re.search(LEDGER, demo.output)
        assert "The books balance" in demo.output
        assert [demo.part(n).count("─ shop ") for n in range(1, 6)] == [1] * 5
        assert [demo.part(n).count("─ customer ") for n in range(1, 6)] == [3, 1, 1, 1, 1]
        assert [demo.part(n).count("─ Telegram ") for n in range(1, 6)] == [0, 0, 0, 1, 0]
        assert "3 messages, 1 turn." in demo.part(1)
        assert "Rescued by the rung “kick 1”" in demo.part(3)
        assert demo.part(4).count("(reasoning_lock)") == 4
        assert re.search(r"1-19 +the model +19 tool calls", demo.part(5))
        assert re.search(r"\n +20 +the model +a reply", demo.part(5))
        assert "(tools were forbidden)" in demo.part(5)
    assert "Ой, какая у вас красота 😍" in russian.output
    assert "Ответьте клиенту" in russian.part(4)
    assert "Please answer" in english.part(4)


BROKEN = """
import os, sys
from cli.demo import run
from sandbox.model.answers import Answer
from sandbox.model.shop_assistant import DEMO_TEXTS, SMALL_TALK, ShopAssistant
from sandbox.stack import Stack

class Broken(Stack):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        assistant = ShopAssistant()
        def respond(request):
            if DEMO_TEXTS[SMALL_TALK]["ru"] not in request.customer:
                return assistant.answer(request).response(request)
            {what_happens}
            return Answer(content="", reasoning="").response(request)
        self.model.play_for_good(respond)

sys.exit(run(real=False, fast=True, make_stack=Broken))
"""


def kept_logs(demo: Demo) -> set[str]:
    said = re.search(r"logs of all processes are kept in\s+(.+)", demo.output, re.DOTALL)
    assert said, demo.output
    (directory,) = demo.temporary.iterdir()
    assert "".join(str(directory).split()) == "".join(said[1].split())  # a long path is folded
    return {log.name for log in directory.glob("*.log")}


def test_a_broken_promise_is_named_and_the_logs_are_kept(tmp_path: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path, script=BROKEN.format(what_happens="pass"))
    demos.append(demo)

    assert demo.end() == 1
    assert "✗ Not as promised: outcome of each message: handed_over, but answered was" in demo.part(2)
    assert "✗ Not as promised: alerts to the managers: 1, but 0 was promised" in demo.part(2)
    assert [n for n in range(1, 6) if "✓ As promised" in demo.part(n)] == [1, 3, 4, 5]
    assert "Not everything went as promised" in demo.output
    assert "The books balance" not in demo.output
    assert {"web.log", "dispatcher.log", "worker.log"} <= kept_logs(demo)


@pytest.mark.parametrize(
    ("victim", "words"),
    [("self.running['worker']", "worker ended with -9"), ("self.valkey", "cannot be looked into: StoreUnavailable")],
)
def test_a_process_that_dies_ends_the_demo(tmp_path: Path, demos: list[Demo], victim: str, words: str) -> None:
    demo = Demo(tmp_path, script=BROKEN.format(what_happens=f"{victim}.kill()"))
    demos.append(demo)

    assert demo.end() == 1
    assert words in demo.output
    assert "Traceback" not in demo.output
    assert "worker.log" in kept_logs(demo)


@pytest.mark.parametrize(
    ("number", "when", "code"),
    [(signal.SIGINT, "Starting Valkey", 130), (signal.SIGINT, "Scene 1:", 130), (signal.SIGTERM, "Scene 2:", 143)],
)
def test_it_stops_in_order_when_asked_to(
    tmp_path: Path, demos: list[Demo], number: signal.Signals, when: str, code: int
) -> None:
    demo = Demo(tmp_path)
    demos.append(demo)
    demo.wait_for(when)
    os.killpg(demo.process.pid, number)

    assert demo.end() == code
    assert "Interrupted. Everything is stopped" in demo.output
    assert "Traceback" not in demo.output
    assert not list(demo.temporary.iterdir())


def project_with_key(folder: Path, **env: str) -> Path:
    folder.mkdir()
    shutil.copy(ROOT / "nightshift.toml", folder / "nightshift.toml")
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in env.items()))
    return folder


def test_a_real_model_without_a_key_is_wrong_usage(tmp_path: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path / "demo", "--real", cwd=project_with_key(tmp_path / "project", LLM_API_KEY=""))
    demos.append(demo)

    assert demo.end() == 2
    assert "LLM_API_KEY is not set" in demo.output


def test_a_real_model_is_taken_as_it_is(tmp_path: Path, demos: list[Demo]) -> None:
    """It fails the third customer once in its own way, and never says what the demo's own model would."""
    model = ModelStandIn()
    model.play_for_good("Рада вас слышать! Расскажите, что вы ищете?\n[VERDICT:CHAT:CHAT_ONLY|WARM] [STAGE:CONSULT]")
    model.script(["Рада вас слышать! Что вы ищете?", "Спасибо на добром слове!", Answer(content="")])
    with model.serve() as server:
        project = project_with_key(tmp_path / "project", LLM_API_URL=server.url, LLM_API_KEY="a-real-key")
        config = project / "nightshift.toml"
        own = '[model]\nprovider = { "order" = ["Acme", "Bolt"], allow_fallbacks = false }\nname = "acme/thinker"'
        config.write_text(re.sub(r'\[model\]\nname = "[^"]*"', own, config.read_text()))
        demo = Demo(tmp_path / "demo", "--real", cwd=project)
        demos.append(demo)

        assert demo.end() == 0, demo.output

    assert set(model.keys) == {"a-real-key"}
    assert {request["model"] for request in model.requests} == {"acme/thinker"}
    assert model.requests[0]["provider"]["order"] == ["Acme", "Bolt"]
    assert "a-real-key" not in demo.output
    assert "Спасибо на добром слове!" in demo.part(2)
    assert [n for n in range(1, 6) if "Rescued by the rung “kick 1”" in demo.part(n)] == [3]
    assert [demo.part(n).count("Cost: $0.00") for n in range(1, 6)] == [1] * 5
    assert "Nothing: there was nothing to tell." in demo.part(4)
    assert "The books balance" in demo.output
