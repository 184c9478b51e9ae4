"""Tells the managers without the worker: what watches the worker cannot leave the telling to it."""

import asyncio
from typing import TYPE_CHECKING

from bot.alerts.alert import Alert
from bot.alerts.rendering import AlertWords, Surroundings, render_alert
from runtime.clock import local
from runtime.files.alert_words import PROMPTS, AlertWordsInvalid, read_alert_words
from runtime.logging import get_logger
from runtime.settings import Settings

if TYPE_CHECKING:
    from clients.telegram.client import TelegramAlerts

log = get_logger(__name__)


class DirectAlerts:
    """`configured` is False without a Telegram token or chat; there is only the log then."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._telegram: TelegramAlerts | None = None
        self.configured = bool(
            settings.env.telegram_bot_token.get_secret_value().strip() and settings.env.telegram_chat_id.strip()
        )

    async def send(self, alert: Alert, *, now_ms: int) -> str:
        """The message id; a failure is one of `clients.telegram.client`'s, all of them a `NightshiftError`."""
        config = self._settings.config
        around = Surroundings(
            now=local(now_ms, config.business.timezone), last_message_at=None, account_name=config.business.name
        )
        html = render_alert(alert, self._words(), around)
        if self._telegram is None:
            self._telegram = await asyncio.to_thread(_open_telegram, self._settings)
        return await self._telegram.send(html)

    async def aclose(self) -> None:
        if self._telegram is not None:
            await self._telegram.aclose()

    def _words(self) -> AlertWords:
        """Read anew each time, it is seldom enough; a file spoiled meanwhile costs the words, not the alert."""
        try:
            return read_alert_words(PROMPTS, self._settings.config.business.locale)
        except AlertWordsInvalid as exc:
            log.error("alert_words_invalid", faults=exc.faults)
            return _PLAIN


def _open_telegram(settings: Settings) -> "TelegramAlerts":
    # Imported in a thread and at the first alert: a healthy process spares the 17 MB and half a second.
    from clients.telegram.client import TelegramAlerts  # noqa: PLC0415

    return TelegramAlerts(settings.env)


_PLAIN = AlertWords(
    titles=dict.fromkeys(("handover", "told", "not_told", "account", "system", "task", "recovered"), "Nightshift"),
    labels={
        name: name
        for name in ("account", "waiting", "last_message", "customer", "open", "conversation", "repeated", "lasted")
    },
    units={"seconds": "s", "minutes": "min", "hours": "h"},
    reasons={"default": "{rule} {detail}"},
)
