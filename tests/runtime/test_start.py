"""Every process looks before it serves: a fault is a line that names it and an exit code, and none of them lingers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.checks.texts import text_findings, text_findings_apart
from runtime.findings import Finding, Level
from runtime.settings import Config, Environment, Settings
from tests.rooms import PRODUCT, ROOT

PROCESSES = ("webhooks", "dispatcher", "worker", "worker.beat", "worker.flower")
SECRET = "sk-Zq8mT4vX1nB7"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of all that a process reads, free to be broken."""
    for room in (*PRODUCT, "cli", "prompts", "knowledge", "nightshift.toml"):
        source = ROOT / room
        if source.is_dir():
            shutil.copytree(source, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / room)
    return tmp_path


def started(house: Path, module: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run to its end; what lingers fails the test by the time-out, which is for that alone."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(house),
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "FLOWER_BASIC_AUTH": "ops:0123456789abc",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=house,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize("process", PROCESSES)
def test_every_process_names_all_faults_and_ends(house: Path, process: str) -> None:
    (house / "prompts" / "ru" / "stage-4-small-talk.md").unlink()
    (house / "knowledge" / "catalog.csv").write_bytes("название;цена\nВаза;1\n".encode("cp1251"))

    ended = started(
        house, process, REDIS_URL="localhost:6379", LLM_API_KEY=f"{SECRET}\u200b", TELEGRAM_BOT_TOKEN="AAHwrong"
    )

    lines = [line.partition(";")[0].strip(" -")[:66] for line in ended.stderr.splitlines()]
    assert ended.returncode == 2
    assert lines == [
        "Nightshift cannot start:",
        "REDIS_URL has no scheme",
        "LLM_API_KEY holds U+200B ZERO WIDTH SPACE as its character 16",
        "TELEGRAM_BOT_TOKEN is no token of a bot",
        "prompts/ru/stage-4-small-talk.md is missing: no script and no tool",
        "knowledge/catalog.csv: line 1 is not UTF-8 (it looks like Windows-",
    ]
    assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.parametrize("process", PROCESSES)
def test_every_process_names_the_line_of_a_broken_config(house: Path, process: str) -> None:
    (house / "nightshift.toml").write_text('[shift]\nmode = "hours"\nhours = ["20:00-10:00"\n', encoding="utf-8")

    ended = started(house, process, PORT="http")

    assert ended.returncode == 2
    assert "PORT: Input should be a valid integer" in ended.stderr
    assert "NIGHTSHIFT_CONFIG: nightshift.toml is not valid TOML" in ended.stderr
    assert "line 3" in ended.stderr or "end of document" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_fault_of_one_section_hides_no_fault_of_the_texts_and_invents_none(house: Path) -> None:
    """All prompts are English here: with the defaults of the whole file, Russian ones would be missed."""
    text = (house / "nightshift.toml").read_text(encoding="utf-8")
    text = text.replace('locale = "ru"', 'locale = "en"').replace('hours = ["20:00-10:00"]', 'hours = ["late"]')
    (house / "nightshift.toml").write_text(text, encoding="utf-8")
    shutil.rmtree(house / "prompts" / "ru")
    (house / "prompts" / "en" / "kick-1.md").write_text("", encoding="utf-8")

    ended = started(house, "webhooks")

    assert ended.returncode == 2
    _, hours, kick = ended.stderr.splitlines()
    assert "nightshift.toml: line" in hours
    assert "shift.hours" in hours
    assert "prompts/en/kick-1.md is empty" in kick


def test_up_looks_once_before_it_starts_anything(house: Path) -> None:
    (house / "Procfile").write_text("web: echo started\n", encoding="utf-8")
    (house / ".env").write_text(f"# keys\nLLM_API_KEY={SECRET}\u00a0key\n", encoding="utf-8-sig")
    (house / "knowledge" / "faq.md").write_text("## Где вы?\n", encoding="utf-8")

    ended = started(house, "cli.main", "up")

    assert ended.returncode == 2
    assert "LLM_API_KEY (line 2 of .env) holds U+00A0 NO-BREAK SPACE" in ended.stderr
    assert "knowledge/faq.md: line 1: no answer follows" in ended.stderr
    assert "started" not in ended.stdout
    assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("LLM_API_KEY=ключ\n".encode("utf-16"), ".env is UTF-16, not UTF-8; save it as UTF-8"),
        ("A=1\nSHOP=Ваза\n".encode("cp1251"), ".env: line 2 is not UTF-8 (it looks like Windows-1251)"),
        (b"A=1\n\nLLM_API_KEY='not closed\nB=2\n", ".env: line 3 cannot be read; write NAME=value"),
    ],
)
@pytest.mark.parametrize("command", ["up", "ledger"])
def test_an_env_file_that_cannot_be_read_is_named(house: Path, command: str, content: bytes, said: str) -> None:
    (house / "Procfile").write_text("web: echo started\n", encoding="utf-8")
    (house / ".env").write_bytes(content)

    ended = started(house, "cli.main", command)

    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
    assert said in ended.stderr


def test_a_worker_whose_house_cannot_be_built_ends_with_the_cause_as_its_last_line(house: Path) -> None:
    """Whatever no check foresees: here a media port that fails when it is opened."""
    (house / "shop_media.py").write_text("def captioner(http):\n    raise ValueError('no such model')\n")
    with (house / "nightshift.toml").open("a", encoding="utf-8") as file:
        file.write("\n")
    text = (house / "nightshift.toml").read_text(encoding="utf-8")
    (house / "nightshift.toml").write_text(
        text.replace('captioner = ""', 'captioner = "shop_media:captioner"'), encoding="utf-8"
    )

    ended = started(house, "worker")

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "Nightshift cannot start: ValueError: no such model"


def test_a_media_module_that_is_not_there_is_known_to_the_receiver(house: Path) -> None:
    text = (house / "nightshift.toml").read_text(encoding="utf-8")
    (house / "nightshift.toml").write_text(
        text.replace('transcriber = ""', 'transcriber = "no_such_shop:voice"'), encoding="utf-8"
    )

    ended = started(house, "webhooks")

    assert ended.returncode == 2
    assert "[media] transcriber names no_such_shop:voice, and there is no such module" in ended.stderr


def test_flower_does_not_start_in_production_without_a_password(house: Path) -> None:
    ended = started(house, "worker.flower", FLOWER_BASIC_AUTH="")

    assert ended.returncode == 2
    assert "FLOWER_BASIC_AUTH is not set" in ended.stderr.splitlines()[-1]


def settings(locale: str = "ru") -> Settings:
    return Settings(env=Environment(), config=Config.model_validate({"business": {"locale": locale}}))


def test_the_texts_that_ship_are_fine() -> None:
    assert text_findings(settings()) == []


def test_a_locale_without_prompts_is_named_with_those_there_are() -> None:
    (first, *_) = text_findings(settings("uz"))

    assert first.level is Level.ERROR
    assert "prompts/uz does not exist, and nightshift.toml asks for it; locales that do: en, ru" in first.what


def test_findings_come_back_from_the_child_as_they_are() -> None:
    found = [Finding("prompts", Level.ERROR, "строка 1", "\u2028"), Finding("b", Level.WARNING, "x" * 100_000)]

    assert text_findings_apart(settings(), lambda _: found) == found


@pytest.mark.parametrize("how", ["raise MemoryError", "raise SystemExit(0)", "os._exit(7)", "os.kill(os.getpid(), 9)"])
def test_a_check_that_dies_is_a_finding_and_no_start(how: str) -> None:
    def check(_: Settings) -> list[Finding]:
        exec(how, {"os": os})
        return []

    (finding,) = text_findings_apart(settings(), check)

    assert finding.level is Level.ERROR
    assert "the check of prompts and knowledge ended with" in finding.what


@pytest.mark.parametrize(
    "url",
    [
        "redis://:pw@h:1/0?socket_timeout=3",
        "rediss://h:1/0?ssl_cert_reqs=none",
        "unix:///run/x.sock?db=1",
        "sentinel://h:26379/mymaster/0",
        "",
    ],
)
def test_an_address_that_redis_takes_is_left_alone(url: str) -> None:
    asked = settings().model_copy(update={"env": Environment.model_validate({"redis_url": url})})

    assert text_findings(asked) == []


def test_a_worker_that_may_not_remember_says_where(house: Path) -> None:
    (house / "var").write_text("a file where a folder belongs", encoding="utf-8")

    ended = started(house, "worker.beat")

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("  - var/beat cannot be made:")
