import stat
from pathlib import Path

from cli.env_file import MADE_UP, Variable, merged_environment, read_env_file, read_example, write_first_env_file

EXAMPLE = """\
# Head of the file.

# --- Meta ----
# From the dashboard.
META_APP_SECRETS=
# Any word.
META_VERIFY_TOKEN=

# Two addresses.
ONE_URL=https://one.example
OTHER_URL=https://other.example
# User and password.
FLOWER_BASIC_AUTH=
VALKEY_PASSWORD=
TELEGRAM_WEBHOOK_SECRET=
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_first_file_has_fresh_secrets_and_is_its_owners_alone(tmp_path: Path) -> None:
    example = write(tmp_path / ".env.example", EXAMPLE)

    assert write_first_env_file(example, tmp_path / "a")
    assert write_first_env_file(example, tmp_path / "b")

    one, other = read_env_file(tmp_path / "a"), read_env_file(tmp_path / "b")
    assert set(one) == {"ONE_URL", "OTHER_URL", *MADE_UP}
    assert one["FLOWER_BASIC_AUTH"].startswith("nightshift:")
    assert all(len(one[name]) >= 24 and one[name] != other[name] for name in MADE_UP)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    example = write(tmp_path / ".env.example", EXAMPLE)
    mine = write(tmp_path / ".env", "LLM_API_KEY=mine\n")

    assert not write_first_env_file(example, mine)
    assert mine.read_text() == "LLM_API_KEY=mine\n"


def test_the_environment_outranks_the_file_unless_it_is_empty(tmp_path: Path) -> None:
    file = write(tmp_path / ".env", "PORT=1\nLLM_API_KEY='a key'\nAPP_ENV=development\nPUBLIC_URL=\n")

    merged = merged_environment(file, {"PORT": "2", "APP_ENV": "", "HOME": "/h"})

    assert merged == {"PORT": "2", "APP_ENV": "development", "LLM_API_KEY": "a key", "HOME": "/h"}


def test_values_are_taken_as_they_stand(tmp_path: Path) -> None:
    file = write(tmp_path / ".env", "REDIS_URL=redis://:p#a$HOME@h:1/0\nNAME=Anna's shop # a comment\n")

    assert read_env_file(file) == {"REDIS_URL": "redis://:p#a$HOME@h:1/0", "NAME": "Anna's shop"}


def test_a_missing_file_says_nothing(tmp_path: Path) -> None:
    assert merged_environment(tmp_path / ".env", {"A": "1"}) == {"A": "1"}


def test_a_comment_explains_the_variables_right_below_it(tmp_path: Path) -> None:
    found = read_example(write(tmp_path / ".env.example", EXAMPLE))

    assert found[:4] == [
        Variable("META_APP_SECRETS", "", "From the dashboard."),
        Variable("META_VERIFY_TOKEN", "", "Any word."),
        Variable("ONE_URL", "https://one.example", "Two addresses."),
        Variable("OTHER_URL", "https://other.example", "Two addresses."),
    ]
