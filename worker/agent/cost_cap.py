"""What a run costs: as the server names it, else by the catalogue's prices; and the caps that end a run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.limits import COST
from bot.model_output import Usage
from runtime.config import CustomerLimits
from runtime.logging import get_logger
from runtime.settings import Model
from store.spending import Spending
from worker.agent.agent_run import AgentRun

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars: of one token that was read, read from the cache, written; and of one request."""

    prompt: float
    cached: float
    completion: float
    request: float = 0.0

    def of(self, usage: Usage) -> float:
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        fresh = usage.prompt_tokens - cached
        written = usage.completion_tokens * self.completion
        return fresh * self.prompt + cached * self.cached + written + self.request


class Prices:
    """By model, as far as the catalogue has told; nothing is known until it has answered."""

    def __init__(self) -> None:
        self._prices: dict[str, Price] = {}

    def learn(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        self._prices |= {name: price for name, model in models.items() if (price := _price_of(model)) is not None}

    def of(self, model: str, usage: Usage) -> float | None:
        price = self._prices.get(model)
        return None if price is None else price.of(usage)


class CostCap:
    """Prices and counts what the runs of one agent cost, and says when a cap is reached; without `spending` no day is
    counted."""

    def __init__(
        self, model: Model, *, prices: Prices, spending: Spending | None, limits: CustomerLimits | None = None
    ) -> None:
        self._model = model
        self._customer_cap = limits.cost_per_customer_day if limits else 0.0
        self._unpriced: set[str] = set()
        self._prices = prices
        self._spending = spending

    async def load(self, run: AgentRun) -> None:
        if self._spending is not None and self._model.max_cost_per_day:
            run.spent_today = await self._spending.today()

    def priced(self, usage: Usage, *, model_asked: str) -> Usage:
        """With its cost, if the server or the catalogue knows it; a request that brought nothing is taken as free."""
        if usage.cost is not None or not usage.completion_tokens:
            return usage
        cost = self._prices.of(model_asked, usage)
        capped = self._model.max_cost_per_turn or self._model.max_cost_per_day or self._customer_cap
        if cost is None and capped and model_asked not in self._unpriced:
            self._unpriced.add(model_asked)
            log.warning("cost_unknown", model=model_asked)  # neither server nor catalogue: no cap can hold
        return replace(usage, cost=cost)

    async def pay(self, run: AgentRun, cost: float | None) -> None:
        if not cost:
            return
        run.cost += cost
        if self._spending is not None:
            run.spent_today = await self._spending.add(cost, conversation_id=run.conversation.id)

    def reached_by(self, run: AgentRun) -> str:
        """The rule of the cap that is reached, or ""."""
        model = self._model
        if model.max_cost_per_turn and run.cost >= model.max_cost_per_turn:
            return "cost_turn"
        if self._customer_cap and run.conversation.spent_today + run.cost >= self._customer_cap:
            return COST
        return "cost_day" if model.max_cost_per_day and run.spent_today >= model.max_cost_per_day else ""


def _price_of(model: Mapping[str, Any]) -> Price | None:
    """A catalogue writes dollars as text, and -1 for a price that depends on where the request goes."""
    pricing = model.get("pricing")
    if not isinstance(pricing, Mapping):
        return None
    prompt, completion = _dollars(pricing.get("prompt")), _dollars(pricing.get("completion"))
    if prompt is None or completion is None:
        return None
    cached = _dollars(pricing.get("input_cache_read"))
    return Price(prompt, prompt if cached is None else cached, completion, _dollars(pricing.get("request")) or 0.0)


def _dollars(value: Any) -> float | None:
    try:
        dollars = float(value)
    except (TypeError, ValueError):
        return None
    return dollars if 0 <= dollars < 1000 else None  # which NaN and infinity are not, either
