"""What holds the house together and no single module can see."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from honcho.environ import parse_procfile

from cli.env_file import Variable, read_example
from runtime.settings import Environment, load_settings

ROOT = Path(__file__).parent.parent
PRIVATE = {".venv", ".git", "var", "__pycache__", "dist", ".env", ".coverage"}
ROOMS = (
    "bot",
    "runtime",
    "webhooks",
    "worker",
    "clients",
    "prompts",
    "sandbox",
    "cli",
    "tests",
    "docs",
    "knowledge",
    "benchmarks",
    ".ci",
)
# In pieces, or this file would find itself.
MACHINE_PATHS = re.compile(r"(?<![\w.])/" + r"(?:root|home/\w+|Users/\w+|work/main|work/shared|opt/wheels)\b")
REGISTRIES = re.compile(r"(?:py" + r"pi\.|python" + r"hosted|registry\.npm" + r"|arti" + r"factory)", re.IGNORECASE)


def our_files() -> Iterator[Path]:
    for folder, names, files in os.walk(ROOT):
        names[:] = [
            n for n in names if n not in PRIVATE and not n.endswith(("_cache", ".egg-info")) and n != ".hypothesis"
        ]
        for name in files:
            if name not in PRIVATE and not name.endswith(".pyc"):
                yield Path(folder, name)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def compose_services() -> dict[str, str]:
    """Each service of docker-compose.yml with its lines; the file keeps to two spaces a level."""
    _, _, services = text_of(ROOT / "docker-compose.yml").partition("\nservices:\n")
    services, _, _ = services.partition("\nvolumes:\n")
    parts = re.split(r"(?m)^  (\w+):\n", services)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def compose_command(service: str) -> list[str]:
    found = re.search(r"(?m)^    command: (\[.*\])$", service)
    assert found is not None
    command: list[str] = json.loads(found[1])
    return [part.replace("$$", "$") for part in command]


def procfile() -> dict[str, str]:
    return dict(parse_procfile(text_of(ROOT / "Procfile")).processes)


def test_compose_runs_what_the_procfile_runs() -> None:
    services = compose_services()
    services.pop("valkey")

    assert {name: compose_command(lines) for name, lines in services.items()} == {
        name: ["sh", "-c", command] for name, command in procfile().items()
    }


def test_the_procfile_names_the_five_processes() -> None:
    assert list(procfile()) == ["web", "dispatcher", "worker", "beat", "flower"]


def test_signals_reach_the_programs_and_not_a_shell_around_them() -> None:
    assert all(command.split("&&")[-1].split()[0] == "exec" for command in procfile().values())


def test_compose_is_indented_as_yaml_wants_it() -> None:
    lines = text_of(ROOT / "docker-compose.yml").splitlines()

    assert not [line for line in lines if "\t" in line or line != line.rstrip()]
    assert not [line for line in lines if (len(line) - len(line.lstrip())) % 2]


def test_compose_publishes_the_receiver_alone() -> None:
    services = compose_services()
    published = {name: re.findall(r'(?m)^      - "(.*:.*)"$', lines) for name, lines in services.items()}

    assert {name: ports for name, ports in published.items() if ports} == {
        "web": ["${PORT:-8000}:${PORT:-8000}"],
        "flower": ["127.0.0.1:${FLOWER_PORT:-5555}:${FLOWER_PORT:-5555}"],
    }


def test_valkey_loses_nothing_it_has_acknowledged_and_evicts_nothing() -> None:
    command = " ".join(compose_command(compose_services()["valkey"]))

    assert "--appendonly yes --appendfsync everysec --maxmemory-policy noeviction" in command


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("redis://:s3cret-Word@valkey:6379/0", "s3cret-Word"),
        ("redis://default:s3cret@valkey/0", "s3cret"),
        ("redis://valkey:6379/0", None),
        ("redis://:@valkey:6379/0", None),
        ("redis://:two words@valkey:6379/0", None),
    ],
)
def test_the_containers_valkey_asks_for_the_password_of_the_address(
    url: str, password: str | None, tmp_path: Path
) -> None:
    done = start_of_valkey(url, tmp_path)

    if password is None:
        assert done.returncode == 1
        assert "needs a password" in done.stderr
    else:
        *command, config = done.stdout.splitlines()
        assert config == f"requirepass {password}"
        assert command[:2] == ["valkey-server", "-"]
        assert not [word for word in command if password in word]


def test_beside_another_redis_the_containers_valkey_is_closed_by_a_password_of_its_own(tmp_path: Path) -> None:
    done = start_of_valkey("rediss://:s3cret%40@elsewhere.example:6379/0", tmp_path)

    assert re.search(r"\nrequirepass [0-9a-f]{48}$", done.stdout.rstrip())


def start_of_valkey(url: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """The entry point of the container, with an image's own that prints what it is given: arguments, then stdin."""
    valkey = yaml.safe_load(text_of(ROOT / "docker-compose.yml"))["services"]["valkey"]
    entrypoint = [part.replace("$$", "$") for part in valkey["entrypoint"]]
    inner = folder / "docker-entrypoint.sh"
    inner.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\ncat\n')
    inner.chmod(0o700)
    return subprocess.run(
        [*entrypoint, *valkey["command"]],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "REDIS_URL": url},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_container_may_end_its_turns() -> None:
    assert "    stop_grace_period: 90s\n" in compose_services()["worker"]


def example() -> list[Variable]:
    return read_example(ROOT / ".env.example")


def test_the_example_names_every_variable_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(ROOT / "nightshift.toml"))
    tokens = {account.token_env for account in load_settings(redis_required=False).config.accounts}
    names = [variable.name for variable in example()]

    assert sorted(names) == sorted({name.upper() for name in Environment.model_fields} | tokens)


def test_the_example_explains_every_variable() -> None:
    assert not [variable.name for variable in example() if len(variable.explanation) < 10]


def test_the_example_shows_the_defaults() -> None:
    shown = {variable.name: variable.value for variable in example() if variable.value}
    defaults = {name.upper(): str(field.default) for name, field in Environment.model_fields.items()}

    assert shown == {name: defaults[name] for name in shown}


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    found = [path.relative_to(ROOT) for path in our_files() if MACHINE_PATHS.search(text_of(path))]

    assert found == []


def test_no_file_names_a_package_registry() -> None:
    found = [path.relative_to(ROOT) for path in our_files() if REGISTRIES.search(text_of(path))]

    assert found == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_locked_packages_carry_hashes_and_no_address(name: str) -> None:
    text = text_of(ROOT / name)
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n", "", text))
    packages = [entry for entry in entries if entry.strip()]

    assert len(packages) > 20
    assert not [entry for entry in packages if not re.match(r"[\w.\[\],-]+==\S+", entry)]
    assert not [entry for entry in packages if "--hash=sha256:" not in entry]
    assert "://" not in text
    assert not re.search(r"(?m)^\s*-", re.sub(r"(?m)^\s+--hash=.*$", "", text))


def test_the_two_locks_agree() -> None:
    def pins(name: str) -> dict[str, str]:
        return dict(re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", text_of(ROOT / name)))

    dev = pins("requirements-dev.lock")

    assert {name: dev.get(name, version) for name, version in pins("requirements.lock").items()} == pins(
        "requirements.lock"
    )


def test_every_room_of_the_house_is_there() -> None:
    assert [room for room in ROOMS if not (ROOT / room).is_dir()] == []


def test_both_languages_have_the_same_prompts() -> None:
    russian, english = (
        {
            path.relative_to(ROOT / "prompts" / locale)
            for path in (ROOT / "prompts" / locale).rglob("*")
            if path.is_file()
        }
        for locale in ("ru", "en")
    )

    assert russian == english
    assert Path("persona.md") in russian


def test_make_help_names_every_command() -> None:
    makefile = text_of(ROOT / "Makefile")
    phony = re.search(r"(?m)^\.PHONY: (.*)$", makefile)
    assert phony is not None
    explained = set(re.findall(r"(?m)^([a-z-]+):.* ## ", makefile))

    assert explained == set(phony[1].split()) - {"stale"}


def test_the_build_files_need_no_absolute_path() -> None:
    assert not re.search(r"CURDIR|abspath|realpath|\$\(PWD\)", text_of(ROOT / "Makefile"))
