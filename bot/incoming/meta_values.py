"""Reads single values of Meta's JSON tolerantly: no odd value raises."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

TEXT_LIMIT = 8000
"""Characters kept of one message: past any limit of Meta's own, short enough for a prompt."""

CAPTION_LIMIT = 200
"""Characters kept of a title, a file name or a button payload."""

_SECONDS_BELOW = 100_000_000_000
_EARLIEST_MS = 1_262_304_000_000  # 2010-01-01: nothing that Meta sends us can be older
# Control characters, line separators, text-direction overrides and the invisible "tag" letters.
_UNFIT_FOR_CAPTION = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+")
# White space and characters that show nothing: a message of these alone says nothing.
_BLANK = " \t\r\n\v\f\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2800\u3164\ufe0f\ufeff\ufffc"
_CAPTION_MARKS = str.maketrans({"[": "(", "]": ")", '"': "'"})


def as_mapping(value: object) -> Mapping[str, Any]:
    """The object itself, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The list itself; a lone object counts as a list of one, anything else as empty."""
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, dict) else []


def as_id(value: object) -> str | None:
    """An id as text. Numbers are written out; a float has lost digits already and is no id."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def as_flag(value: object) -> bool:
    return value is True or value == 1 or value == "true"


def as_text(value: object) -> str:
    """What a customer or a colleague wrote, whole and unchanged, but for NUL, which stores and models refuse."""
    if isinstance(value, str):
        return value.replace("\x00", "") if "\x00" in value else value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def is_invisible(text: str) -> bool:
    """No more than blanks and invisible characters; a lone "?" is something said."""
    return not text.strip(_BLANK)


def as_caption(value: object) -> str:
    """A title or payload fit to stand inside a note: one line, no square brackets or quotes, `CAPTION_LIMIT` long."""
    text = as_text(value)[: CAPTION_LIMIT * 4]
    text = " ".join(_UNFIT_FOR_CAPTION.sub(" ", text).translate(_CAPTION_MARKS).split())
    return text if len(text) <= CAPTION_LIMIT else text[: CAPTION_LIMIT - 1].rstrip() + "…"


def as_ms(value: object, received_ms: int) -> int:
    """A time in milliseconds, whatever unit it came in; `received_ms` where it is missing, absurd or in the future.

    Meta sends milliseconds, seconds, either of them as text, and ISO 8601 (read as UTC when it names no zone).
    """
    number = _number(value)
    if number is None or not 0 < number < 1e18:
        return received_ms
    ms = int(number * 1000) if number < _SECONDS_BELOW else int(number)
    return ms if _EARLIEST_MS <= ms <= received_ms else received_ms


def _number(value: object) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
