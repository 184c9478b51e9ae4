"""Accounts of these tests, and items for them."""

from bot.incoming.events import (
    CustomerMessage,
)
from tests.webhooks.support import (
    event,
)


def words(payload: object) -> CustomerMessage:
    found = event(payload)
    assert isinstance(found, CustomerMessage)
    return found
