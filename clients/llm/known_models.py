"""What the models behind one address turned out to be like, learned from their refusals, for the life of a client."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from bot.agent.repairs import Repair
from clients.llm.errors import refused_fields
from clients.llm.quirks import ModelQuirks
from clients.llm.refusals import learned_from
from clients.llm.requests import OPTIONAL_FIELDS, ROUTER_FIELDS, ModelRequest

LOW_BALANCE = "low_balance"  # what is learned from a 402: shorter answers, as long as the money lasts
_UNKNOWN = ModelQuirks()


class KnownModels:
    """`on_learned` hears, once each, the model and what was learned: a repair, `LOW_BALANCE` or `without <field>`."""

    def __init__(self, *, url: str, clock: Callable[[], int], on_learned: Callable[[str, str], None]) -> None:
        self._knows_router_fields = (urlsplit(url).hostname or "").endswith("openrouter.ai")
        self._clock = clock
        self._on_learned = on_learned
        self._quirks: dict[str, ModelQuirks] = {}
        self._told: set[tuple[str, str]] = set()

    def of(self, model: str) -> ModelQuirks:
        return self._quirks.get(model, _UNKNOWN)

    def takes_tools(self, model: str) -> bool:
        return self.of(model).takes_tools(now_ms=self._clock())

    def fit(self, request: ModelRequest) -> ModelRequest:
        return self.of(request.model).fit(request, now_ms=self._clock())

    def drop_fields(self, model: str, status: int | None, refusal: Any, sent: Mapping[str, Any]) -> bool:
        """True when optional fields were refused by name; they stay away from this model from here on.

        A server that names a field of routers knows none of them, so all go at once. OpenRouter knows them all: there
        only those named go, or `provider`, and the privacy it asks for, would be lost.
        """
        if status not in (400, 404, 422):
            return False
        refused = refused_fields(refusal, OPTIONAL_FIELDS & sent.keys())
        if refused & ROUTER_FIELDS and not self._knows_router_fields:
            refused |= ROUTER_FIELDS & sent.keys()
        if refused:
            known = self.of(model)
            self._quirks[model] = replace(known, without=known.without | refused)
            for field in sorted(refused):
                self._tell(model, f"without {field}")
        return bool(refused)

    def learn(self, request: ModelRequest, status: int | None, refusal: Any, sent: Mapping[str, Any]) -> Repair:
        """The repair that this refusal calls for, from now on part of every request for the model; NONE for none.

        Another call may have learned it meanwhile: then asking again helps all the same.
        """
        model = request.model
        learned = learned_from(status, refusal, request, sent, self.of(model), now_ms=self._clock())
        if learned is None:
            return Repair.NONE
        self._quirks[model] = learned.quirks
        self._tell(model, LOW_BALANCE if status == 402 else learned.repair.value)
        return learned.repair

    def _tell(self, model: str, what: str) -> None:
        if (model, what) not in self._told:
            self._told.add((model, what))
            self._on_learned(model, what)
