"""The troubles that receivers and senders of others have had in the field: each is held by something of ours."""

import ast
from functools import cache

import pytest

from tests.payloads.ends import ENDS
from tests.rooms import ROOT
from tests.webhooks.troubles.table import TROUBLES


@cache
def functions_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_every_trouble_is_listed_and_held_by_something() -> None:
    assert sorted(TROUBLES) == list(range(1, 50))
    for number, trouble in TROUBLES.items():
        assert bool(trouble.people) != bool(trouble.payloads or trouble.tests), number


@pytest.mark.parametrize("number", sorted(TROUBLES))
def test_the_tests_that_hold_a_trouble_exist(number: int) -> None:
    for node in TROUBLES[number].tests:
        path, _, name = node.partition("::")
        assert name in functions_in(path), node


@pytest.mark.parametrize("number", sorted(TROUBLES))
def test_the_payloads_of_a_trouble_end_as_they_should(number: int) -> None:
    """That they do end so is checked with the payloads themselves."""
    trouble = TROUBLES[number]
    for name in trouble.payloads:
        assert all(isinstance(end, trouble.ends) for end in ENDS[name]), name
