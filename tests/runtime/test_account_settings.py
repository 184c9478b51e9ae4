"""What one account may have of its own, and that it stays its own."""

from datetime import time
from pathlib import Path

import pytest

from bot.incoming.events import Channel
from bot.shift import Hours, ShiftMode
from runtime.settings import Account, Settings, SettingsInvalid, load_settings

TOML = """
[business]
locale = "ru"

[shift]
mode = "humans_first"
takeover_minutes = 45

[model]
name = "main/model"
max_steps = 7

[[accounts]]
channel = "instagram"
id = "1"

[[accounts]]
channel = "messenger"
id = "1"
locale = "en"
model = "other/model"
prompts = "prompts-shop"
shift = { mode = "hours", hours = ["22:00-08:00"], ignore_auto_replies_seconds = 5 }
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "nightshift.toml"
    path.write_text(TOML, encoding="utf-8")
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(path))
    return path


def both(settings: Settings) -> tuple[Account, Account]:
    plain, special = settings.account(Channel.INSTAGRAM, "1"), settings.account(Channel.MESSENGER, "1")
    assert plain is not None
    assert special is not None
    return plain, special


def test_what_an_account_names_replaces_the_rest_and_only_there(config: Path) -> None:
    settings = load_settings(redis_required=False)
    plain, special = both(settings)

    assert settings.shift_of(plain) == settings.config.shift
    own = settings.shift_of(special)
    assert (own.mode, own.hours) == (ShiftMode.HOURS, (Hours(time(22), time(8)),))
    assert (own.takeover_minutes, own.ignore_auto_replies_seconds) == (45, 5)
    assert (settings.locale_of(plain), settings.locale_of(special)) == ("ru", "en")
    assert settings.model_of(plain) == settings.config.model
    assert (settings.model_of(special).name, settings.model_of(special).max_steps) == ("other/model", 7)


def test_a_misspelt_setting_of_an_account_is_named(config: Path) -> None:
    config.write_text(TOML.replace("ignore_auto_replies_seconds", "ignore_auto_reply_seconds"), encoding="utf-8")

    findings = load_settings(redis_required=False).findings

    assert any("ignore_auto_replies_seconds?" in str(finding) for finding in findings)


def test_hours_of_an_account_are_checked(config: Path) -> None:
    config.write_text(TOML.replace("22:00-08:00", "at night"), encoding="utf-8")

    with pytest.raises(SettingsInvalid, match="20:00-10:00"):
        load_settings(redis_required=False)
