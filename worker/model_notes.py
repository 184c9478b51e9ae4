"""What a model server turned out to be like is told once: in the log, and to the managers where it costs answers."""

import asyncio

from bot.errors import NightshiftError
from bot.repairs import Repair
from clients.llm_known_models import LOW_BALANCE
from runtime.alert_outbox import AlertOutbox
from runtime.clock import now_ms
from runtime.logging import get_logger

log = get_logger(__name__)

ALERTS = {Repair.NO_TOOLS.value: "model_no_tools", LOW_BALANCE: "model_balance_low"}
TRY_AGAIN_SECONDS = 5.0


class ModelNotes:
    """Hears of each lesson as `LLMClient` learns it; `run` brings the grave ones into the alert outbox."""

    def __init__(self, outbox: AlertOutbox) -> None:
        self._outbox = outbox
        self._grave: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def __call__(self, model: str, what: str) -> None:
        log.warning("model_server_learned", model=model, what=what)
        if rule := ALERTS.get(what):
            self._grave.put_nowait((rule, model))

    async def run(self) -> None:
        """Until it is cancelled. An outage of the store delays an alert and loses none."""
        while True:
            rule, model = await self._grave.get()
            body = {"rule": rule, "detail": model, "first_at": now_ms(), "count": 1}
            try:
                await self._outbox.raise_alert(f"{rule}:{model}", body)
            except NightshiftError as exc:
                log.warning("model_alert_waits", rule=rule, reason=str(exc))
                self._grave.put_nowait((rule, model))
                await asyncio.sleep(TRY_AGAIN_SECONDS)
