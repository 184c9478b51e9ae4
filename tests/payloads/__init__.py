"""Bodies of webhooks, with invented ids and words, and what has to become of each.

`instagram/` and `messenger/`: every shape that Meta documents. `field/`: shapes met in the field (`field.py`: where).
A payload's name is its path without the ending: `messenger/events/read`.
"""

from pathlib import Path

PAYLOADS = Path(__file__).parent
INSTAGRAM = "17841400000000042"
PAGE = "104400000000001"
APP_ID = "555000111222333"
CUSTOMERS = ("9001000000000123", "7000000000000011", "ref-1")
"""Whoever writes in the payloads; the last one is known only by a plug-in's reference."""


def raw(name: str) -> bytes:
    return (PAYLOADS / f"{name}.json").read_bytes()


def names(under: str = "") -> list[str]:
    """All of them, or those of one folder."""
    return sorted(str(path.relative_to(PAYLOADS).with_suffix("")) for path in (PAYLOADS / under).rglob("*.json"))


def documented() -> list[str]:
    return names("instagram") + names("messenger")
