"""What the tests of link buttons, pictures, files and reactions have in common."""

import asyncio
from typing import Any

from sandbox.model.faults import TAGS
from sandbox.stack import Stack
from tests.end_to_end.people import Customer

SHOP = "https://demo-studio.example"
PAGE, PHOTO, PRICES, BOOK = f"{SHOP}/p/101", f"{SHOP}/p/101.jpg", f"{SHOP}/prices.pdf", f"{SHOP}/prices.xlsx"
WORDS = "Кружка «Туман» стоит 1900 ₽."


def reply(*elements: str, words: str = WORDS) -> str:
    return "\n".join([words, *elements, TAGS])


def knows(stack: Stack, customer: Customer, *addresses: str) -> None:
    """A colleague has named these addresses before, so that they are no invention of the model's."""
    asyncio.run(stack.meta.deliver(stack.meta.human(customer.id, " ".join(addresses), account=customer.account)))


def seen_by(stack: Stack, customer: Customer) -> list[dict[str, Any]]:
    """What came after the words, and with them: the keys that a plain text has not."""
    plain = {"to", "mid", "at", "account", "channel", "metadata"}
    mine = [message for message in stack.meta.sent if message["to"] == customer.id]
    return [{key: value for key, value in message.items() if key not in plain} for message in mine]
