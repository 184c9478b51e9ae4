"""The words of alerts, as part of the texts that a worker checks before it starts."""

from pathlib import Path

from bot.alerts.rendering import AlertWords
from runtime.files.alert_words import AlertWordsInvalid, read_alert_words
from runtime.files.prompts import PromptsInvalid


def load_alert_words(root: Path, locale: str) -> AlertWords:
    """Raise `PromptsInvalid` naming every fault."""
    try:
        return read_alert_words(root, locale)
    except AlertWordsInvalid as exc:
        raise PromptsInvalid(exc.faults) from exc


__all__ = ["AlertWords", "load_alert_words"]
