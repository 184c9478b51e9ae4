"""The whole system once per session: real Valkey, Celery worker, uvicorn and dispatcher against the sandbox."""

from collections.abc import Iterator

import pytest

from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("stack"), quiet=0.4, max_wait=1.5, budget=12) as stack:
        yield stack


@pytest.fixture
def stack(running: Stack) -> Stack:
    running.model.reset()
    running.meta.reset()
    running.telegram.messages.clear()
    return running


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return Customer(stack, new_customer())
