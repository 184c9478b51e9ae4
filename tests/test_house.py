"""What holds the house together and no single module can see."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from honcho.environ import parse_procfile

from cli.env_file import Variable, read_example
from runtime.settings import Environment, load_settings
from tests.rooms import ROOT

PRIVATE = {".venv", ".git", "var", "__pycache__", "dist", ".coverage"}
COMPOSE_ALONE = {"VALKEY_PASSWORD"}
ROOMS = (
    "bot",
    "runtime",
    "store",
    "monitoring",
    "webhooks",
    "dispatcher",
    "worker",
    "rehearsal",
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
            is_private = name in PRIVATE or (name.startswith(".env") and name != ".env.example")
            if not is_private and not name.endswith(".pyc"):
                yield Path(folder, name)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def procfile() -> dict[str, str]:
    return dict(parse_procfile(text_of(ROOT / "Procfile")).processes)


def test_the_procfile_names_the_five_processes() -> None:
    assert list(procfile()) == ["web", "dispatcher", "worker", "beat", "flower"]


def test_signals_reach_the_programs_and_not_a_shell_around_them() -> None:
    assert all(command.split("&&")[-1].split()[0] == "exec" for command in procfile().values())


def example() -> list[Variable]:
    return read_example(ROOT / ".env.example")


def test_the_example_names_every_variable_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(ROOT / "nightshift.toml"))
    tokens = {account.token_env for account in load_settings(redis_required=False).config.accounts}
    names = [variable.name for variable in example()]

    assert sorted(names) == sorted({name.upper() for name in Environment.model_fields} | tokens | COMPOSE_ALONE)


def test_what_compose_alone_reads_it_does_read() -> None:
    compose = text_of(ROOT / "docker-compose.yml")

    assert [name for name in COMPOSE_ALONE if f"${{{name}" not in compose] == []


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


MOST_LINES = 300
MOST_FILES = 20


def test_no_file_is_longer_than_one_can_read() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in our_files()
        if path.suffix in (".py", ".lua") and (lines := len(text_of(path).splitlines())) > MOST_LINES
    }

    assert long == {}, "look for the second noun"


def test_no_room_is_crowded() -> None:
    rooms = Counter(
        str(path.parent.relative_to(ROOT)) for path in our_files() if path.suffix in (".py", ".lua", ".json", ".md")
    )

    assert {room: files for room, files in rooms.items() if files > MOST_FILES} == {}, "give it a shelf"
