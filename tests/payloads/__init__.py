"""Bodies of webhooks, with invented ids and words, and what has to become of each.

`I` and `M`: every shape that Meta documents for Instagram and Messenger. `F`: shapes met in the field.
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


def names() -> list[str]:
    return sorted(path.stem for path in PAYLOADS.glob("*.json"))
