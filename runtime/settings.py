"""The environment and `nightshift.toml`, read once per process, checked as a whole, then passed on."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.request import getproxies_environment

from pydantic import SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.shift import ShiftMode
from runtime.checks.environment import environment_findings, plain, proxy_findings
from runtime.checks.urls import travels_in_the_clear
from runtime.config import (
    Account,
    Alerts,
    Business,
    CommentSettings,
    Config,
    Debounce,
    LadderRung,
    Leads,
    MediaSettings,
    Model,
    Reconcile,
    Section,
    Shift,
    ShiftOverride,
    TelemetrySettings,
    Turn,
)
from runtime.files.config import ConfigFile, token_variables
from runtime.files.env import ENV_FILE, lines_of
from runtime.findings import Finding, Level


class SettingsInvalid(Exception):
    """The process must not start; the message lists every fault found, and `findings` holds the warnings, too."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message, tuple(findings))
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return str(self.args[0])


class Environment(BaseSettings):
    """One field for each variable of the contract; `.env.example` names them all, and a test compares the two."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", case_sensitive=False, env_ignore_empty=True, hide_input_in_errors=True
    )

    redis_url: SecretStr = SecretStr("")
    celery_broker_url: SecretStr = SecretStr("")
    meta_app_secrets: SecretStr = SecretStr("")
    meta_verify_token: SecretStr = SecretStr("")
    meta_app_id: str = ""
    graph_api_url: str = "https://graph.facebook.com"
    instagram_api_url: str = "https://graph.instagram.com"
    graph_api_version: str = "v26.0"
    llm_api_url: str = "https://openrouter.ai/api/v1"
    llm_api_key: SecretStr = SecretStr("")
    telegram_api_url: str = "https://api.telegram.org"
    telegram_bot_token: SecretStr = SecretStr("")
    telegram_chat_id: str = ""
    telegram_webhook_secret: SecretStr = SecretStr("")
    telegram_admin_ids: str = ""
    telegram_escalation_chat_id: str = ""
    alert_webhook_url: str = ""
    alert_webhook_secret: SecretStr = SecretStr("")
    amocrm_url: str = ""
    amocrm_token: SecretStr = SecretStr("")
    lead_webhook_url: str = ""
    lead_webhook_secret: SecretStr = SecretStr("")
    sentry_dsn: SecretStr = SecretStr("")
    app_env: str = "production"
    public_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    ops_token: SecretStr = SecretStr("")
    console_port: int = 8080
    console_password: SecretStr = SecretStr("")
    console_url: str = ""
    flower_basic_auth: SecretStr = SecretStr("")
    flower_port: int = 5555
    nightshift_config: Path = Path("nightshift.toml")

    @model_validator(mode="before")
    @classmethod
    def without_space_around(cls, values: Any) -> Any:
        """No value means a space or a line break at its ends, which files and secret stores like to add."""
        stripped = {key: value.strip() if isinstance(value, str) else value for key, value in dict(values).items()}
        return {key: value for key, value in stripped.items() if value != ""}

    @property
    def app_secrets(self) -> tuple[str, ...]:
        return tuple(s for s in (part.strip() for part in self.meta_app_secrets.get_secret_value().split(",")) if s)

    @property
    def broker_url(self) -> SecretStr:
        return self.celery_broker_url or self.redis_url


class Settings(Section):
    """Everything a process may know of its surroundings. `findings` do not stop the start: an operator is to know."""

    env: Environment
    config: Config
    findings: tuple[Finding, ...] = ()

    def account(self, channel: str, account_id: str) -> Account | None:
        for account in self.config.accounts:
            if account.channel == channel and account.id == account_id:
                return account
        return None

    def shift_of(self, account: Account) -> Shift:
        own = {name: getattr(account.shift, name) for name in account.shift.model_fields_set}
        return self.config.shift.model_copy(update={name: value for name, value in own.items() if value is not None})

    def locale_of(self, account: Account) -> str:
        return account.locale or self.config.business.locale

    def model_of(self, account: Account) -> Model:
        return self.config.model.model_copy(update={"name": account.model} if account.model else {})


def load_settings(*, redis_required: bool = True) -> Settings:
    """Read the environment and the config file; raise `SettingsInvalid` naming every fault at once."""
    settings = read_settings(redis_required=redis_required)
    refuse_errors(settings.findings)
    return settings


def refuse_errors(findings: Sequence[Finding]) -> None:
    """Raise `SettingsInvalid` when one of them must stop the process."""
    if errors := [finding for finding in findings if finding.level is Level.ERROR]:
        raise SettingsInvalid("Nightshift cannot start:\n" + "\n".join(f"  - {error}" for error in errors), findings)


def read_settings(*, redis_required: bool = True) -> Settings:
    """As `load_settings`, with errors among the findings; what is wrong then has its default value."""
    env, findings = _environment()
    file = ConfigFile(env.nightshift_config)
    tokens = {name: os.environ.get(name, "").strip() for name in token_variables(file.raw)}
    settings = Settings(env=env, config=file.validated(tokens))
    if redis_required and not plain(env.redis_url):
        fix = "`make up` starts an embedded server and sets it, or give redis://host:6379/0"
        findings.append(Finding("env.REDIS_URL", Level.ERROR, "REDIS_URL is not set", fix))
    findings += environment_findings(env, tokens, lines=lines_of(ENV_FILE, os.environ))
    findings += [*proxy_findings(getproxies_environment()), *file.findings]
    if not file.findings:
        findings += [*file.unknown_keys(), *_config_findings(settings, file)]
    return settings.model_copy(update={"findings": tuple(findings)})


def _environment() -> tuple[Environment, list[Finding]]:
    try:
        return Environment(), []
    except ValidationError as exc:
        findings = []
        for error in exc.errors():
            name = str(error["loc"][0]).upper()
            findings.append(Finding(f"env.{name}", Level.ERROR, f"{name}: {error['msg']}"))
        defaults = {
            str(e["loc"][0]).lower(): Environment.model_fields[str(e["loc"][0]).lower()].default for e in exc.errors()
        }
        return Environment(**defaults), findings


def _config_findings(settings: Settings, file: ConfigFile) -> Iterator[Finding]:
    """What the file says rightly, and hardly means."""
    config = settings.config
    for number, account in enumerate(config.accounts):
        name, token = f"account {account.channel} {account.id}", account.token.get_secret_value()
        where = file.at("accounts", number, "token_env")
        if not token:
            what = f"{where}: {name}: no token in {account.token_env or '(token_env is not set)'}"
            yield Finding("accounts.token", Level.WARNING, what, "nothing can be sent for it until the variable is set")
        elif token.startswith("EAA" if account.login == "instagram" else ("IGQ", "IGAA")):
            what = f"{where}: {name}: the token in {account.token_env} begins like one of another login"
            yield Finding(
                "accounts.token", Level.WARNING, what, f'login = "{account.login}" wants a token of its own kind'
            )
        shift = settings.shift_of(account)
        if shift.mode is ShiftMode.HOURS and not shift.hours and account.shift.model_fields_set:
            yield _no_hours(file.at("accounts", number, "shift"))
    if config.shift.mode is ShiftMode.HOURS and not config.shift.hours:
        yield _no_hours(file.at("shift", "hours"))
    if travels_in_the_clear(config.alerts.heartbeat_url):
        what = f"{file.at('alerts', 'heartbeat_url')}: heartbeat_url begins with http://: its address can be read"
        yield Finding("config.alerts.heartbeat_url", Level.WARNING, what, "write https://")
    if not config.model.max_cost_per_day:
        what = f"{file.at('model', 'max_cost_per_day')}: no cap on what the model may cost in a day"
        fix = "set [model] max_cost_per_day to US dollars; reaching it ends in the stub, and managers are told"
        yield Finding("config.model.max_cost_per_day", Level.WARNING, what, fix)


def _no_hours(where: str) -> Finding:
    fix = 'write at least one span such as hours = ["20:00-10:00"], or mode = "always"'
    return Finding("config.shift.hours", Level.ERROR, f'{where}: mode = "hours" without hours', fix)


__all__ = [
    "Account",
    "Alerts",
    "Business",
    "CommentSettings",
    "Config",
    "Debounce",
    "Environment",
    "LadderRung",
    "Leads",
    "MediaSettings",
    "Model",
    "Reconcile",
    "Section",
    "Settings",
    "SettingsInvalid",
    "Shift",
    "ShiftOverride",
    "TelemetrySettings",
    "Turn",
    "load_settings",
]
