"""What a model server turned out to be like is told once: in the log, and to the managers where it costs answers."""

import asyncio
from collections.abc import Callable

from bot.agent.repairs import Repair
from bot.alerts.alert import Alert
from clients.llm.known_models import LOW_BALANCE
from runtime.logging import get_logger
from store.outboxes.alerts import AlertOutbox

log = get_logger(__name__)

ALERTS = {Repair.NO_TOOLS.value: "model_no_tools", LOW_BALANCE: "model_balance_low"}


class ModelNotes:
    """Hears what `LLMClient` learns of a server. `run`, a background job, brings the grave notes into the alert
    outbox. `now_ms`: the house's clock."""

    def __init__(self, outbox: AlertOutbox, *, now_ms: Callable[[], int]) -> None:
        self._outbox = outbox
        self._now_ms = now_ms
        self._grave: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def __call__(self, model: str, what: str) -> None:
        log.warning("model_server_learned", model=model, what=what)
        if rule := ALERTS.get(what):
            self._grave.put_nowait((rule, model))

    async def run(self) -> None:
        """Until it fails, with nothing lost: what could not be stored is tried again when it is run anew."""
        while True:
            rule, model = await self._grave.get()
            alert = Alert(rule, detail=model, first_at=self._now_ms())
            try:
                await self._outbox.raise_alert(f"{rule}:{model}", alert)
            except BaseException:
                self._grave.put_nowait((rule, model))
                raise
