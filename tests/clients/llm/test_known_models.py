"""What one refusal teaches holds for the model's later requests, and is told once."""

from typing import Any

import pytest

from bot.agent.repairs import Repair
from clients.llm.known_models import LOW_BALANCE, KnownModels
from clients.llm.requests import ModelRequest

REQUEST = ModelRequest(
    "vendor/model",
    [{"role": "user", "content": "Привет"}],
    tools=[{"type": "function", "function": {"name": "search"}}],
    provider={"data_collection": "deny"},
    user="opaque",
)
NO_TOOLS = {"error": {"message": "this model does not support tools"}}


class Told(list[tuple[str, str]]):
    def __call__(self, model: str, what: str) -> None:
        self.append((model, what))


def known(told: Told, *, url: str = "http://127.0.0.1:8000/v1") -> KnownModels:
    return KnownModels(url=url, clock=lambda: 0, on_learned=told)


def refused(*fields: str) -> dict[str, Any]:
    return {"error": {"message": f"Unsupported parameter: {', '.join(fields)}", "param": fields[0]}}


def test_a_model_without_tools_is_sent_none_from_then_on_and_others_are() -> None:
    told = Told()
    models = known(told)

    repairs = [models.learn(REQUEST, 400, NO_TOOLS, REQUEST.body()) for _ in range(2)]

    assert repairs == [Repair.NO_TOOLS, Repair.NO_TOOLS]
    assert told == [("vendor/model", "no_tools")]
    assert not models.fit(REQUEST).tools
    assert models.takes_tools("vendor/other")


def test_a_low_balance_is_told_as_such() -> None:
    told = Told()

    known(told).learn(REQUEST, 402, {"error": {"message": "You can only afford 1200"}}, REQUEST.body())

    assert told == [("vendor/model", LOW_BALANCE)]


def test_a_refusal_that_says_nothing_teaches_nothing() -> None:
    told = Told()
    models = known(told)

    assert models.learn(REQUEST, 400, {"error": {"message": "bad request"}}, REQUEST.body()) is Repair.NONE
    assert told == []
    assert models.fit(REQUEST) == REQUEST


def test_a_server_that_does_not_know_one_field_of_routers_knows_none() -> None:
    told = Told()
    models = known(told)

    assert models.drop_fields("vendor/model", 400, refused("provider"), REQUEST.body())

    assert models.of("vendor/model").without == {"provider", "user"}
    assert told == [("vendor/model", "without provider"), ("vendor/model", "without user")]


def test_a_router_keeps_the_fields_that_it_did_not_name() -> None:
    models = known(Told(), url="https://openrouter.ai/api/v1")

    models.drop_fields("vendor/model", 400, refused("user"), REQUEST.body())

    assert models.of("vendor/model").without == {"user"}


@pytest.mark.parametrize("status", [None, 401, 429, 500])
def test_only_a_refusal_of_the_request_names_fields(status: int | None) -> None:
    models = known(Told())

    assert not models.drop_fields("vendor/model", status, refused("user"), REQUEST.body())
    assert models.of("vendor/model").without == frozenset()
