"""What a turn had found when it ended without a whole answer, kept so that the customer's "?" goes on from there."""

import json
from collections.abc import Sequence
from typing import Any

from bot.text.urls import beginning_of

MAX_BYTES = 8000
MOST_OF_CALL = 260
KEPT_MS = 24 * 3600 * 1000
_DRAFT = "[An unfinished draft of the answer; finish it or write it anew]\n"


def write_scratchpad(found: Sequence[str], draft: str, *, at_ms: int) -> str:
    """A note of at most `MAX_BYTES`, "" for nothing. The newest findings are kept longest; the draft goes first."""
    kept: list[str] = []
    lines = [*found, f"{_DRAFT}{draft.strip()}"] if draft.strip() else list(found)
    for text in reversed(lines):
        if len(_encode([text, *kept], at_ms)) > MAX_BYTES:
            room = MAX_BYTES - len(_encode(["", *kept], at_ms))
            if kept or room < len(_DRAFT) + 100:
                break
            whole = len(text.encode()[: room // 2].decode("utf-8", "ignore"))  # half: escapes take room too
            text = beginning_of(text, whole)  # noqa: PLW2901
        kept.insert(0, text)
    return _encode(kept, at_ms).decode() if kept else ""


def read_scratchpad(note: str, *, now_ms: int) -> tuple[str, ...]:
    """The findings of a note; none of one that is older than a day or cannot be read."""
    try:
        value: Any = json.loads(note) if note else {}
    except ValueError:
        return ()
    if not isinstance(value, dict) or not isinstance(value.get("at"), int) or not isinstance(value.get("found"), list):
        return ()
    if not 0 <= now_ms - value["at"] <= KEPT_MS:
        return ()
    return tuple(text for text in value["found"] if isinstance(text, str) and text.strip())


def finding(call: str, result: str) -> str:
    """One finding: the call on a line of its own, whatever lines a model broke it into, and below it what came back."""
    return f"{' '.join(call.split())[:MOST_OF_CALL]}\n{result}"


def results_of(found: Sequence[str]) -> tuple[str, ...]:
    """What tools have said, without the calls and drafts, which a model wrote."""
    results = (text.partition("\n")[2] for text in found if not text.startswith(_DRAFT))
    return tuple(text for text in results if not text.startswith("Error: "))


def _encode(found: Sequence[str], at_ms: int) -> bytes:
    return json.dumps({"at": at_ms, "found": list(found)}, ensure_ascii=False, separators=(",", ":")).encode()
