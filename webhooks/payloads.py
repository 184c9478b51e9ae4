"""Reads the body of a webhook: whatever is JSON in some way is read."""

import json
import re

import orjson

_DIGITS_LIMIT = 40
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class BodyUnreadable(ValueError):
    """The body is not JSON."""


def parse_body(raw: bytes) -> object:
    """The JSON in `raw`; raise `BodyUnreadable` when there is none."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_leniently(raw)


def _parse_leniently(raw: bytes) -> object:
    """What orjson refuses (half an emoji, a byte order mark, broken UTF-8, a number past all bounds): one bad character
    must not cost a batch."""
    try:
        value = json.loads(raw.decode("utf-8-sig", "replace"), parse_int=_whole_number)
        return json.loads(_LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError) as exc:
        raise BodyUnreadable(type(exc).__name__) from exc


def _whole_number(digits: str) -> int | float:
    """Python refuses to read an integer of some thousand digits at all; nothing of Meta's has as many as 40."""
    return int(digits) if len(digits) <= _DIGITS_LIMIT else float(digits)
