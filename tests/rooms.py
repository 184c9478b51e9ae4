"""The rooms of the house, for tests that look through all of its code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PRODUCT: Final = ("bot", "runtime", "store", "clients", "monitoring", "webhooks", "dispatcher", "worker")
"""What serves customers."""
COMMANDS: Final = ("cli", "rehearsal", "sandbox")


def sources(*rooms: str, kinds: tuple[str, ...] = (".py",)) -> Iterator[Path]:
    """The files of these rooms, of all of `PRODUCT` without a name, in a fixed order."""
    for room in rooms or PRODUCT:
        yield from sorted(path for path in (ROOT / room).rglob("*") if path.suffix in kinds)
