"""Reads `alerts.toml`: what managers are told, in words the business can edit."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from bot.alerts.rendering import AlertWords
from runtime.files.text import TextUnreadable, read_text

ALERTS_FILE = "alerts.toml"
PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
_TITLES = ("handover", "told", "not_told", "account", "system", "task", "recovered")
_UNITS = ("seconds", "minutes", "hours")
_LABELS = ("account", "waiting", "last_message", "customer", "open", "conversation", "repeated", "lasted")


class AlertWordsInvalid(Exception):
    """The file cannot be used; `faults` lists everything that is wrong with it."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(faults)
        self.faults = faults


def read_alert_words(root: Path, locale: str) -> AlertWords:
    """Raise `AlertWordsInvalid`; `reasons.default` covers a rule without words of its own."""
    path = root / locale / ALERTS_FILE
    try:
        raw = tomllib.loads(read_text(path))
    except FileNotFoundError as exc:
        raise AlertWordsInvalid([f"{path} is missing: managers would be told nothing"]) from exc
    except TextUnreadable as exc:
        raise AlertWordsInvalid([str(exc)]) from exc
    except tomllib.TOMLDecodeError as exc:
        raise AlertWordsInvalid([f"{path} is not valid TOML: {exc}"]) from exc
    faults = [
        f"{path}: [{table}] {name} is missing or not text"
        for table, names in (("titles", _TITLES), ("labels", _LABELS), ("units", _UNITS), ("reasons", ("default",)))
        for name in names
        if not isinstance(raw.get(table), Mapping)
        or not isinstance(raw[table].get(name), str)
        or not raw[table][name].strip()
    ]
    if faults:
        raise AlertWordsInvalid(faults)
    return AlertWords(
        titles=dict(raw["titles"]),
        labels=dict(raw["labels"]),
        units=dict(raw["units"]),
        reasons={name: str(text) for name, text in raw["reasons"].items()},
    )
