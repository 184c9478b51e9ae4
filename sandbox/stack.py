"""The whole product running against the sandbox: Valkey, the Procfile's processes, and the other side, on free ports.

What runs is what an operator runs: each line of the Procfile under plain `sh`, told nothing but the environment of
the contract. The demo, the end-to-end tests and the benchmarks stand on it.
"""

import asyncio
import json
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from runtime.child import start_child
from runtime.embedded import EmbeddedValkey
from runtime.settings import Account
from sandbox.meta.callers import Host
from sandbox.meta.server import Echo, MetaSandbox
from sandbox.model.server import ModelStandIn
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from sandbox.server import SandboxServer
from sandbox.stack_config import CONFIG, section_of, two_accounts
from sandbox.telegram.server import TelegramSandbox
from store.connection import connect
from store.ledger import Ledger
from store.scripts import Scripts

ROOT = Path(__file__).resolve().parent.parent
APP_SECRET = "sandbox-app-secret"  # noqa: S105 - signs what the sandbox itself sends
APP_ID = "555000111222333"
STOP_SECONDS = 40.0


class StackFailed(Exception):
    """A process did not start, or ended by itself; the message holds the last lines of its log."""


class Stack:
    """Started by entering it. `processes` are names of Procfile lines; more of a kind are started by `spawn`.

    `more_accounts` come beside the two there always are; their tokens go into the variables of their `token_env`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        processes: Sequence[str] = ("web", "dispatcher", "worker"),
        locale: str = "ru",
        disclosure: bool = False,
        quiet: float = 0.3,
        max_wait: float = 1.0,
        takeover: float = 60,
        budget: float = 20,
        more: str = "",
        more_accounts: Sequence[Account] = (),
        environment: Mapping[str, str] | None = None,
        echo: Echo = "after",
    ) -> None:
        self.directory = directory
        self._wanted = tuple(processes)
        self._config = CONFIG.format(
            locale=locale,
            disclosure=str(disclosure).lower(),
            quiet=quiet,
            max_wait=max_wait,
            takeover=takeover,
            budget=budget,
            more="\n".join([more, *map(section_of, more_accounts)]),
        )
        self._extra = dict(environment or {})
        self._lines = read_procfile(ROOT / "Procfile")
        self._ports = ExitStack()
        self.web_port = self._ports.enter_context(reserved_port())
        self.flower_port = self._ports.enter_context(reserved_port())
        self.valkey = EmbeddedValkey(directory / "valkey")
        self.model = ModelStandIn()
        self._model_server = self.model.serve()
        tokens = {"INSTAGRAM_TOKEN": "sandbox-instagram-token", "MESSENGER_TOKEN": "sandbox-messenger-token"}
        tokens |= {a.token_env: a.token.get_secret_value() for a in more_accounts if a.token_env}
        self._tokens = tokens
        self.meta = MetaSandbox(
            [*two_accounts(tokens), *more_accounts],
            app_secret=APP_SECRET,
            app_id=APP_ID,
            webhook_url=f"{self.url}/webhooks/meta",
            echo=echo,
        )
        self._meta_server = SandboxServer(self.meta.app)
        self.telegram = TelegramSandbox(token="1234567:" + "sandbox-telegram-token-0000000000")
        self._telegram_server = SandboxServer(self.telegram.app)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def environment(self) -> dict[str, str]:
        """What the contract names, and the bare minimum a shell has."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.directory),
            "REDIS_URL": self.valkey.url,
            "META_APP_SECRETS": f"an-older-secret,{APP_SECRET}",
            "META_VERIFY_TOKEN": "sandbox-verify-token",
            "META_APP_ID": APP_ID,
            "GRAPH_API_URL": f"{self._meta_server.url}/{Host.FACEBOOK}",
            "INSTAGRAM_API_URL": f"{self._meta_server.url}/{Host.INSTAGRAM}",
            "LLM_API_URL": self._model_server.url,
            "LLM_API_KEY": "sandbox-key",
            "TELEGRAM_API_URL": self._telegram_server.url,
            "TELEGRAM_BOT_TOKEN": self.telegram.token,
            "TELEGRAM_CHAT_ID": "-1001234567890",
            "FLOWER_BASIC_AUTH": "ops:sandbox",
            "FLOWER_PORT": str(self.flower_port),
            "PORT": str(self.web_port),
            "NIGHTSHIFT_CONFIG": str(self.directory / "nightshift.toml"),
            **self._tokens,
            **self._extra,
        }

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "nightshift.toml").write_text(self._config, encoding="utf-8")
        try:
            self.valkey.start()
            for server in (self._model_server, self._meta_server, self._telegram_server):
                server.start()
            for name in self._wanted:
                self.spawn(name)
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def spawn(
        self, name: str, *, alias: str = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start one Procfile line; `alias` tells apart several of a kind, and a second web needs a PORT of its own."""
        alias, env = alias or name, {**self.environment, **(environment or {})}
        log = (self.directory / f"{alias}.log").open("ab")
        with log:
            process = start_child(["/bin/sh", "-c", self._lines[name]], env=env, cwd=ROOT, output=log)
        self.running[alias] = process
        return process

    def kill(self, alias: str, *, how: signal.Signals = signal.SIGKILL, wait_seconds: float = PATIENCE_SECONDS) -> int:
        """End a process by signal; its exit code."""
        process = self.running.pop(alias)
        process.send_signal(how)
        try:
            return process.wait(wait_seconds)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def wait_until_ready(self) -> None:
        """Until the receiver can store and, if they are wanted, dispatcher and worker have been heard of."""
        path = "/health/system" if {"dispatcher", "worker"} <= self.running.keys() else "/health/ready"
        self.wait_for(lambda: "web" not in self.running or self._answers(path), f"{path} to be fine")

    def wait_for(self, condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
        """Poll until `condition` gives something true, which is returned; a process that dies ends the wait."""
        deadline = time.monotonic() + seconds
        while True:
            if found := condition():
                return found
            for alias, process in self.running.items():
                if process.poll() is not None:
                    raise StackFailed(f"{alias} ended with {process.returncode}:\n{self.log_tail(alias)}")
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- {alias}\n{self.log_tail(alias, 12)}" for alias in self.running)
                raise StackFailed(f"waited {seconds:.0f} s for {what}\n{logs}")
            time.sleep(0.02)

    def log_tail(self, alias: str, lines: int = 40) -> str:
        log = self.directory / f"{alias}.log"
        return (
            "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if log.exists() else ""
        )

    def ledger(self) -> dict[str, Any]:
        """What `nightshift ledger --json` would print, read here: a process for each look costs more than a turn."""

        async def read() -> dict[str, Any]:
            url = self.environment["REDIS_URL"]
            client = connect(url, max_connections=2, timeout_seconds=PATIENCE_SECONDS, client_name="sandbox")
            try:
                return (await Ledger(Scripts(client)).sums()).as_json()
            finally:
                await client.aclose()

        return asyncio.run(read())

    def ledger_command(self) -> dict[str, Any]:
        """`nightshift ledger --json`, run as an operator would, and its `exit_code`."""
        done = subprocess.run(  # noqa: S603 - our own command
            [ROOT / ".venv/bin/python", "-m", "cli.main", "ledger", "--json"],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        if not done.stdout:
            raise StackFailed(f"nightshift ledger failed:\n{done.stderr.decode(errors='replace')}")
        return {**json.loads(done.stdout), "exit_code": done.returncode}

    def stop(self) -> None:
        """Everything ends, Valkey last; nothing is left behind."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for process in self.running.values():
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()
        for server in (self._model_server, self._meta_server, self._telegram_server):
            server.stop()
        self.valkey.stop()
        self._ports.close()

    def _answers(self, path: str) -> bool:
        try:
            return httpx.get(f"{self.url}{path}", timeout=10, trust_env=False).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False


def read_procfile(path: Path) -> dict[str, str]:
    lines = (line.partition(":") for line in path.read_text(encoding="utf-8").splitlines() if ":" in line)
    return {name.strip(): command.strip() for name, _, command in lines}


def new_customer() -> str:
    """An invented scoped id."""
    return f"900{secrets.randbelow(10**13):013d}"


__all__ = ["ROOT", "Stack", "StackFailed", "new_customer"]
