"""The first thing that every process does: look whether it can serve at all, and say all that is wrong at once."""

import sys
from collections.abc import Sequence

from runtime.checks.texts import text_findings_apart
from runtime.files.config import token_variables
from runtime.files.env import ENV_FILE, env_file_warnings
from runtime.findings import Finding, Level
from runtime.logging import get_logger
from runtime.settings import Environment, Settings, SettingsInvalid, load_settings, read_settings, refuse_errors

log = get_logger(__name__)

WRONG_CONFIGURATION = 2  # the exit code

_OTHER_VARIABLES = (  # read by others than our settings; docker-compose.yml reads the last one
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("FLOWER_ADDRESS", "VALKEY_PASSWORD"),
)


class _Process:
    """Celery imports its application by itself, so what `start_process` has found is kept for it here."""

    name: str = ""
    settings: Settings | None = None


def start_process(name: str) -> Settings:
    """The settings of a process that may serve. With an error among the findings it ends here: each on a line of
    stderr, exit code 2. To be called before any thread is started."""
    try:
        settings = checked_settings()
    except SettingsInvalid as exc:
        sys.stderr.write(f"{exc}\n")
        raise SystemExit(WRONG_CONFIGURATION) from None
    _Process.name, _Process.settings = name, settings
    return settings


def process_settings() -> Settings:
    """Those that `start_process` has checked, else they are loaded now."""
    return _Process.settings or load_settings()


def process_name(default: str) -> str:
    return _Process.name or default


def checked_settings(*, redis_required: bool = True) -> Settings:
    """Settings, and everything that they name on this machine; raise `SettingsInvalid` with every fault."""
    settings = read_settings(redis_required=redis_required)
    findings = [*settings.findings, *env_file_warnings(ENV_FILE, known_variables(settings))]
    if not any(map(_hides_texts, findings)):
        findings += text_findings_apart(settings)
    refuse_errors(findings)
    return settings.model_copy(update={"findings": tuple(findings)})


def say_warnings(settings: Settings) -> None:
    """Into the log, once it is configured."""
    for finding in warnings_of(settings.findings):
        log.warning("setting_doubtful", check=finding.check, what=finding.what, fix=finding.fix)


def warnings_of(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level is Level.WARNING]


def _hides_texts(finding: Finding) -> bool:
    """Whether it is not known which texts there are to be: the file, or where it names them, cannot be read."""
    section = ".".join(finding.check.split(".")[:2])
    return finding.level is Level.ERROR and section in ("config", "config.business", "config.accounts")


def known_variables(settings: Settings) -> list[str]:
    """The names that have a meaning in `.env`."""
    accounts = {"accounts": [{"token_env": account.token_env} for account in settings.config.accounts]}
    return [*(name.upper() for name in Environment.model_fields), *token_variables(accounts), *_OTHER_VARIABLES]
