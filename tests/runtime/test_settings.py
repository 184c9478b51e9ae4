from pathlib import Path

import pytest

from bot.shift import ShiftMode
from runtime.findings import Level
from runtime.settings import Environment, SettingsInvalid, load_settings
from tests.rooms import ROOT


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*Environment.model_fields, "instagram_token", "messenger_token"]:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(ROOT / "nightshift.toml"))


def configured(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(path))


def test_the_config_of_the_repository_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSTAGRAM_TOKEN", "an-invented-token")

    settings = load_settings()

    assert [account.channel.value for account in settings.config.accounts] == ["instagram", "messenger"]
    assert settings.config.shift.mode is ShiftMode.ALWAYS
    account = settings.account("instagram", "17841400000000042")
    assert account is not None
    assert account.token.get_secret_value() == "an-invented-token"
    assert [finding.check for finding in settings.findings] == ["accounts.token", "config.model.max_cost_per_day"]
    assert "MESSENGER_TOKEN" in settings.findings[0].what


def test_every_fault_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REDIS_URL")
    configured(
        monkeypatch,
        tmp_path,
        '[debounce]\nquiet_seconds = "soon"\n[shift]\nhours = ["late"]\n[business]\ntimezone = "Mars"',
    )

    with pytest.raises(SettingsInvalid) as caught:
        load_settings()

    for word in ("REDIS_URL", "quiet_seconds", "hours", "Mars"):
        assert word in str(caught.value)


@pytest.mark.parametrize("content", [None, "not = [toml", "\xff"])
def test_a_config_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "nightshift.toml"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    monkeypatch.setenv("NIGHTSHIFT_CONFIG", str(path))

    with pytest.raises(SettingsInvalid, match=r"nightshift\.toml"):
        load_settings()


def test_a_typo_is_pointed_out_and_stops_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configured(monkeypatch, tmp_path, "[debounce]\nquiet_second = 9\n")

    [warning] = [f for f in load_settings().findings if f.check != "config.model.max_cost_per_day"]

    assert warning.level is Level.WARNING
    assert warning.what.endswith("own.toml: line 2: debounce.quiet_second is not a setting")
    assert warning.fix == "did you mean quiet_seconds?"


def test_an_account_may_not_be_listed_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    account = '[[accounts]]\nchannel = "instagram"\nid = "1"\n'
    configured(monkeypatch, tmp_path, account + account)

    with pytest.raises(SettingsInvalid, match="listed twice"):
        load_settings()


def test_an_empty_variable_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "")
    monkeypatch.setenv("META_APP_SECRETS", " one , ,two,")

    env = load_settings().env

    assert env.port == 8000
    assert env.app_secrets == ("one", "two")


def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "an-invented-key")
    monkeypatch.setenv("INSTAGRAM_TOKEN", "an-invented-token")

    assert "an-invented" not in repr(load_settings())


def test_the_broker_is_redis_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().env.broker_url.get_secret_value() == "redis://127.0.0.1:1/0"

    monkeypatch.setenv("CELERY_BROKER_URL", "amqp://127.0.0.1:2//")

    assert load_settings().env.broker_url.get_secret_value() == "amqp://127.0.0.1:2//"
