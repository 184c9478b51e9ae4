"""What model servers are told of a tool's arguments, and what a model is told that sent wrong ones."""

import json
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from bot.model_output import ToolCall
from tests.rooms import ROOT
from worker.agent.knowledge import load_knowledge
from worker.agent.tool_arguments import Arguments, Words, schema_of
from worker.agent.tools import Tool, ToolBox, search_tool

pytestmark = pytest.mark.anyio


class Address(Arguments):
    """Where to."""

    city: Words


class Order(Arguments):
    count: int
    price: float | None = None
    gift: bool = False
    colour: Literal["red", "blue"] | None = Field(None, description="Of the glaze.")
    codes: list[str] = Field(default_factory=list)
    to: Address | None = None
    stops: list[Address] = Field(default_factory=list)


class Tree(Arguments):
    branches: "list[Tree]"


class Either(Arguments):
    what: int | str


async def take(arguments: Order) -> str:
    return f"ordered {arguments.count} to {arguments.to.city if arguments.to else 'nowhere'}"


BOX = ToolBox([Tool("order", "Orders.", Order, take, outside=False)])


async def ordered(arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return (await BOX.call(ToolCall("call-1", "order", text))).text


def test_a_schema_is_plain() -> None:
    city = {"type": "string", "minLength": 1}
    address = {
        "type": "object",
        "description": "Where to.",
        "additionalProperties": False,
        "properties": {"city": city},
        "required": ["city"],
    }

    assert schema_of(Order) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["count"],
        "properties": {
            "count": {"type": "integer"},
            "price": {"type": "number"},
            "gift": {"type": "boolean", "default": False},
            "colour": {"type": "string", "enum": ["red", "blue"], "description": "Of the glaze."},
            "codes": {"type": "array", "items": {"type": "string"}},
            "to": address,
            "stops": {"type": "array", "items": address},
        },
    }


def test_the_schema_of_the_search_is_what_it_was() -> None:
    [spec] = ToolBox([search_tool(load_knowledge(ROOT / "knowledge"))]).specs

    assert spec["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "description": "Two or three words to the point, in the customer's language.",
            }
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("arguments", [Tree, Either])
def test_arguments_without_a_plain_schema_stop_the_start(arguments: type[Arguments]) -> None:
    with pytest.raises(ValueError, match=r"plain schema|holds itself"):
        ToolBox([Tool("order", "Orders.", arguments, take)])


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": 2, "price": 1.5, "gift": True, "colour": "red", "codes": ["a"], "to": {"city": "Tula"}},
        {"count": 2.0, "price": None, "to": {"city": "Tula"}},
        {"count": 2, "price": 3, "to": {"city": "Tula"}, "stops": [{"city": "Орёл"}]},
    ],
)
async def test_arguments_that_fit_reach_the_tool(arguments: dict[str, Any]) -> None:
    assert await ordered(arguments) == "ordered 2 to Tula"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "count is missing"),
        ({"count": True}, "count must be of type integer"),
        ({"count": "2"}, "count must be of type integer"),
        ({"count": 1.5}, "count must be of type integer"),
        ({"count": None}, "count must be of type integer"),
        ({"count": 1, "price": "5"}, "price must be of type number"),
        ({"count": 1, "gift": 1}, "gift must be of type boolean"),
        ({"count": 1, "colour": "зелёный"}, "colour must be one of 'red' or 'blue'"),
        ({"count": 1, "codes": ["a", 2]}, "codes[1] must be of type string"),
        ({"count": 1, "codes": "a"}, "codes must be of type array"),
        ({"count": 1, "to": {}}, "to.city is missing"),
        ({"count": 1, "to": "Tula"}, "to must be of type object"),
        ({"count": 1, "to": {"city": " "}}, "to.city must not be blank"),
        ({"count": 1, "to": {"city": ""}}, "to.city must not be blank"),
        ({"count": 1, "to": {"city": "Tula", "zip": 1}}, "to.zip is not known"),
        ({"count": 1, "customer_id": "7"}, "customer_id is not known, only count, price"),
        ('{"count": NaN}', "NaN is no number"),
        ('{"count": 1e999}', "1e999 is no number"),
        ('{"count": ' + "9" * 5000 + "}", "not a JSON object"),
    ],
)
async def test_what_is_wrong_is_named(arguments: Any, expected: str) -> None:
    text = await ordered(arguments)

    assert text.startswith("Error: the arguments of order are ")
    assert expected in text


texts = st.text(max_size=20) | st.sampled_from(["кружка 🫖", "\ud800", "\U000e0041", "__proto__", "$ref"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(sorted(Order.model_fields)) | texts


@given(st.dictionaries(names, values, max_size=8))
@example({"count": 1, "x" * 100_000: 1})
@example({f"x{n}": n for n in range(20_000)})
@example({"count": 1, "\ud800": "\ud800"})
@example({"count": 10**400, "codes": ["\ud800"]})
@example({"count": 1, "codes": [1] * 50_000})
async def test_no_arguments_fail_a_turn(arguments: dict[str, Any]) -> None:
    text = await ordered(arguments)

    assert text
    assert len(text.encode()) < 8_000


@pytest.mark.parametrize("text", ['{"count":' * 100_000, '{"to":' + "[" * 5_000 + "]" * 5_000 + "}", '{"count": 1'])
async def test_deep_or_broken_json_is_answered_with_words(text: str) -> None:
    assert (await ordered(text)).startswith("Error: ")
