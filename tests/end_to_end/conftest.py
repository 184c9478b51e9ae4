"""The whole system once per session: real Valkey, Celery worker, uvicorn and dispatcher against the sandbox."""

from collections.abc import Iterator

import pytest

from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, begin_anew


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("stack"), quiet=0.4, max_wait=1.5, budget=12) as stack:
        yield stack
        ledger = stack.ledger_command()  # once more, as an operator reads it
    assert (ledger["balanced"], ledger["exit_code"]) == (True, 0)


@pytest.fixture
def stack(running: Stack) -> Stack:
    return begin_anew(running)


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return Customer(stack, new_customer())
