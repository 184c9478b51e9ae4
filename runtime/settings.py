"""The environment and `nightshift.toml`, read once per process, checked as a whole, then passed on."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

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
from runtime.redis_url import FORMS, is_redis_url, read_redis_url


class SettingsInvalid(Exception):
    """The process must not start; the message lists every fault found."""


def _redis_address(url: SecretStr) -> SecretStr:
    if url:
        read_redis_url(url.get_secret_value())
    return url


def _broker_address(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    if text and "://" not in text:
        raise ValueError(f"must begin with {FORMS} or another scheme of Celery's, such as amqp://")
    return _redis_address(url) if is_redis_url(text) else url


class Environment(BaseSettings):
    """One field for each variable of the contract; `.env.example` names them all, and a test compares the two."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", case_sensitive=False, env_ignore_empty=True, hide_input_in_errors=True
    )

    redis_url: Annotated[SecretStr, AfterValidator(_redis_address)] = SecretStr("")
    celery_broker_url: Annotated[SecretStr, AfterValidator(_broker_address)] = SecretStr("")
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
    flower_basic_auth: SecretStr = SecretStr("")
    flower_port: int = 5555
    nightshift_config: Path = Path("nightshift.toml")

    @property
    def app_secrets(self) -> tuple[str, ...]:
        return tuple(s for s in (part.strip() for part in self.meta_app_secrets.get_secret_value().split(",")) if s)

    @property
    def broker_url(self) -> SecretStr:
        return self.celery_broker_url or self.redis_url


class Settings(Section):
    """Everything a process may know of its surroundings. `warnings` are faults that do not stop the start."""

    env: Environment
    config: Config
    warnings: tuple[str, ...] = ()

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
    faults: list[str] = []
    warnings: list[str] = []
    try:
        env = Environment()
    except ValidationError as exc:
        raise SettingsInvalid(
            _listed([f"{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in exc.errors()])
        ) from exc
    if redis_required and not env.redis_url:
        faults.append(
            "REDIS_URL is not set; `make up` starts an embedded server and sets it, or give redis://host:6379/0"
        )
    raw = _read_toml(env.nightshift_config, faults)
    try:
        config = Config.model_validate(_with_tokens(raw, os.environ))
    except ValidationError as exc:
        faults += [f"{env.nightshift_config}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors()]
        config = Config()
    warnings += _unknown_keys(raw, Config, str(env.nightshift_config))
    warnings += [
        f"account {a.channel} {a.id}: no token in {a.token_env or '(token_env is not set)'}, nothing can be sent for it"
        for a in config.accounts
        if not a.token.get_secret_value()
    ]
    if faults:
        raise SettingsInvalid(_listed(faults))
    return Settings(env=env, config=config, warnings=tuple(warnings))


def _read_toml(path: Path, faults: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        faults.append(f"NIGHTSHIFT_CONFIG: {path} does not exist; copy nightshift.toml from the repository and edit it")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        faults.append(f"NIGHTSHIFT_CONFIG: {path} cannot be read: {exc}")
    return {}


def _with_tokens(raw: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    accounts = raw.get("accounts")
    if not isinstance(accounts, list):
        return raw
    filled = [
        {**account, "token": environ.get(str(account.get("token_env", "")), "")}
        if isinstance(account, dict)
        else account
        for account in accounts
    ]
    return {**raw, "accounts": filled}


_LISTED: dict[str, type[BaseModel]] = {"accounts": Account, "ladder": LadderRung}  # sections that may be repeated


def _unknown_keys(raw: Mapping[str, Any], section: type[BaseModel], where: str) -> list[str]:
    """A typo silently becomes a default, so it is named; a key of a newer version must not stop the start."""
    found: list[str] = []
    for key, value in raw.items():
        field = section.model_fields.get(key)
        if field is None:
            near = difflib.get_close_matches(key, section.model_fields, n=1)
            found.append(f"{where}: {key} is not a setting" + (f"; did you mean {near[0]}?" if near else ""))
            continue
        kind: Any = _LISTED.get(key, field.annotation)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Mapping):
                    found += _unknown_keys(item, kind, f"{where}: {key}")
    return found


def _listed(faults: list[str]) -> str:
    return "Nightshift cannot start:\n" + "\n".join(f"  - {fault}" for fault in faults)


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
