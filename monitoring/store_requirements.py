"""What Redis must be like may change under a running house: an incident then, and its end when it is well again."""

from collections.abc import Awaitable, Callable

from bot.alerts.alert import Alert
from runtime.clock import monotonic
from runtime.findings import Finding, Level
from runtime.logging import get_logger
from store.connection import StoreUnavailable
from store.outboxes.system_incidents import SystemIncidents

log = get_logger(__name__)

PERIOD_SECONDS = 60.0
STEADY_SECONDS = 150.0  # several receivers look, each at its own time

_RULES = {
    "eviction": "store_eviction",
    "persistence": "store_persistence",
    "connections": "store_connections",
    "rights": "store_rights",
}
STORE_UNFIT = "store_unfit"  # everything else
EVERY_RULE = (*_RULES.values(), STORE_UNFIT)


class StoreRequirements:
    """A warning that was there at the first look is known to who started the house, and is no incident."""

    def __init__(
        self,
        check: Callable[[], Awaitable[list[Finding]]],
        incidents: SystemIncidents,
        *,
        clock_ms: Callable[[], int],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._check = check
        self._incidents = incidents
        self._clock = clock
        self._clock_ms = clock_ms
        self._next = clock()
        self._known: frozenset[str] | None = None

    async def look(self) -> None:
        """Once a minute, however often it is called; an outage is another watch's business."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + PERIOD_SECONDS
        try:
            findings = await self._check()
            await self._remember(findings)
        except StoreUnavailable as exc:
            log.debug("store_not_checked", reason=str(exc))

    async def _remember(self, findings: list[Finding]) -> None:
        warned = frozenset(finding.check for finding in findings if finding.level is Level.WARNING)
        if self._known is None:
            self._known = warned
        broken: dict[str, Finding] = {}
        passed_over = set()
        for finding in findings:
            rule = _RULES.get(finding.check.partition(".")[2], STORE_UNFIT)
            if finding.level is Level.ERROR:
                broken[rule] = finding
            elif finding.check in self._known:
                passed_over.add(rule)
            else:
                broken.setdefault(rule, finding)
        self._known &= warned
        now = self._clock_ms()
        for rule in EVERY_RULE:
            if rule in broken:
                finding = broken[rule]
                if await self._incidents.broke(Alert(rule, detail=str(finding)), now_ms=now):
                    log.error("store_requirement_broken", check=finding.check, detail=str(finding))
            elif rule not in passed_over and await self._incidents.is_well(
                rule, now_ms=now, steady_seconds=STEADY_SECONDS
            ):
                log.info("store_requirement_met", rule=rule)
