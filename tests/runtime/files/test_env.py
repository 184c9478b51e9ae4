"""The file itself: who may read it, what stands in it that nothing reads, and where a variable stands."""

from pathlib import Path

import pytest

from cli.env_file import read_example
from runtime.files.env import env_file_warnings, lines_of, read_env_lines
from runtime.findings import Level
from runtime.settings import read_settings
from runtime.start import known_variables

KNOWN = ("SENTRY_DSN", "LLM_API_KEY", "LLM_API_URL", "INSTAGRAM_TOKEN")


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    path = tmp_path / ".env"
    path.write_text("# a comment\n\nexport LLM_API_KEY='a key'\nSHOP_COLOUR=blue\nEMPTY=\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def test_a_file_of_the_owners_alone_is_fine(env_file: Path) -> None:
    assert list(env_file_warnings(env_file, KNOWN)) == []
    assert list(env_file_warnings(env_file.parent / "none", KNOWN)) == []


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o666])
def test_a_file_that_others_may_read_is_pointed_out(env_file: Path, mode: int) -> None:
    env_file.chmod(mode)

    (warning,) = env_file_warnings(env_file, KNOWN)

    assert warning.level is Level.WARNING
    assert f"({mode:04o})" in warning.what
    assert warning.fix == f"run chmod 600 {env_file}"


def test_a_name_that_is_nearly_a_known_one_is_pointed_out(env_file: Path) -> None:
    env_file.write_text("PORT=1\nSENTRY_DNS=x\nllm_api_key=y\n", encoding="utf-8")

    found = list(env_file_warnings(env_file, KNOWN))

    assert [(f.what.partition(": ")[2], f.fix) for f in found] == [
        ("line 2: nothing reads SENTRY_DNS", "rename it to SENTRY_DSN, if that was meant")
    ]


def test_a_byte_order_mark_is_read_over_and_pointed_out(env_file: Path) -> None:
    env_file.write_text("LLM_API_KEY=x\n", encoding="utf-8-sig")

    (warning,) = env_file_warnings(env_file, KNOWN)

    assert "byte order mark" in warning.what
    assert [line.name for line in read_env_lines(env_file)[0]] == ["LLM_API_KEY"]


def test_a_variable_is_found_where_its_value_is_in_force(env_file: Path) -> None:
    assert lines_of(env_file, {"LLM_API_KEY": "a key", "SHOP_COLOUR": "red"}) == {"LLM_API_KEY": 3}


def test_the_names_of_the_example_are_known() -> None:
    """A typo in any of them is pointed out, also in one that docker-compose.yml alone reads."""
    example = {variable.name for variable in read_example(Path(".env.example"))}

    assert example <= set(known_variables(read_settings(redis_required=False)))
