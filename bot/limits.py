"""What one customer may cost, and whether a program answers us: decided before any model is paid.

A conversation that reaches a limit is handed over once; what comes after is silenced until the limit lets the customer
in again.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

# Reasons of a handover: `rule` of its plan and alert.
TURNS = "limit_turns"
COST = "limit_cost"
AUTO_RESPONDER = "auto_responder"
RULES = frozenset({TURNS, COST, AUTO_RESPONDER})

# An answer this soon after our reply was not typed: a person has to read first. It counts from when the reply was
# booked, which is a moment after it was sent. People's words may cross ours once or twice, seldom six times in a row.
INSTANT_MS = 1000
BEFORE_BOOKED_MS = 500
REACTION_MS = 60_000  # words later than this are no reaction to our reply
CHANGED_MS = 5_000  # people take longer to read a reply and change their words
MECHANICAL = 6  # points in a row: the same words again are one, an instant answer is one, both are two
FEWEST_LETTERS = 12  # "yes" and "thanks" are said again and again by people
ALIKE = 0.75
SKETCH = 8  # words of a text that stand for all of it
LOOK_BACK = 3  # replies of a program may take turns

_NOT_LETTERS = re.compile(r"[\W\d_]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """0: no limit. `cost_per_day` in US dollars."""

    turns_per_hour: int = 0
    cost_per_day: float = 0.0


@dataclass(frozen=True, slots=True)
class Burst:
    """What a turn answers, as much of it as tells people from programs. Times are when it was received, by the store.

    `sketch` is that of `sketch_of`; `letters` how many there were.
    """

    first_ms: int
    last_ms: int
    letters: int = 0
    sketch: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PastTurn:
    burst: Burst
    ended_ms: int  # when its reply was booked


@dataclass(frozen=True, slots=True)
class Limited:
    """The conversation was handed over by `rule` at that time, and the customer told so."""

    rule: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Within:
    """The customer may be answered."""


@dataclass(frozen=True, slots=True)
class TooMuch:
    """To be handed over, once, with `rule` as the reason."""

    rule: str


@dataclass(frozen=True, slots=True)
class Silent:
    """Handed over already: no reply is due."""


def decide(
    burst: Burst,
    past: Sequence[PastTurn],
    *,
    limits: Limits,
    spent_today: float,
    limited: Limited | None,
    now_ms: int,
) -> Within | TooMuch | Silent:
    """`past` are the turns of the last hour or more, oldest first; `spent_today` US dollars of this UTC day."""
    too_dear = bool(limits.cost_per_day) and spent_today >= limits.cost_per_day
    if limited is not None:
        lasts = now_ms < limited.at_ms + HOUR_MS
        if limited.rule == TURNS and limits.turns_per_hour and lasts:
            return Silent()
        if limited.rule == COST and too_dear and limited.at_ms // DAY_MS == now_ms // DAY_MS:
            return Silent()
        if limited.rule == AUTO_RESPONDER and lasts and _points(burst, past):
            return Silent()  # a person behind the program, who writes other words in their own time, is answered
    if limits.turns_per_hour and sum(now_ms - turn.ended_ms < HOUR_MS for turn in past) >= limits.turns_per_hour:
        return TooMuch(TURNS)
    if too_dear:
        return TooMuch(COST)
    return TooMuch(AUTO_RESPONDER) if is_program(burst, past) else Within()


def is_program(burst: Burst, past: Sequence[PastTurn]) -> bool:
    """Whether this burst and those before it are the reactions of a program to our replies."""
    points = 0
    for at in range(len(past), 0, -1):
        mechanical = _points(burst, past[:at])
        if not mechanical:
            return False
        points += mechanical
        if points >= MECHANICAL:
            return True
        burst = past[at - 1].burst
    return False


def _points(burst: Burst, past: Sequence[PastTurn]) -> int:
    """How mechanical this burst is as a reaction to the last of `past`: 0, 1 or 2."""
    if not past:
        return 0
    gap = burst.first_ms - past[-1].ended_ms
    instant = gap >= -BEFORE_BOOKED_MS and burst.last_ms - past[-1].ended_ms <= INSTANT_MS
    same = any(_same(burst, turn.burst, gap_ms=abs(gap)) for turn in past[-LOOK_BACK:])
    return instant + same


def burst_of(texts: Iterable[str], received_ms: Sequence[int]) -> Burst:
    letters, sketch = sketch_of("\n".join(texts))
    return Burst(min(received_ms, default=0), max(received_ms, default=0), letters, sketch)


def sketch_of(text: str) -> tuple[int, tuple[int, ...]]:
    """How many letters it has, and a few of its words, hashed, by which texts can be compared.

    Numbers are no words: the same notice comes with another time and another ticket each day.
    """
    plain = unicodedata.normalize("NFKC", text[:20_000]).casefold().replace("ё", "е")
    words = [word for word in _NOT_LETTERS.split(plain) if word]
    hashes = {zlib.crc32(word.encode("utf-8", "replace")) for word in words}
    return sum(map(len, words)), tuple(sorted(hashes)[:SKETCH])


def _same(one: Burst, other: Burst, *, gap_ms: int) -> bool:
    """The same words, or within moments nearly the same: a notice that greets by name."""
    if min(one.letters, other.letters) < FEWEST_LETTERS or gap_ms > REACTION_MS:
        return False
    if (one.letters, one.sketch) == (other.letters, other.sketch):
        return True
    least = set(sorted({*one.sketch, *other.sketch})[:SKETCH])  # the share of these in both estimates that of all words
    return gap_ms <= CHANGED_MS and len(least & set(one.sketch) & set(other.sketch)) >= ALIKE * len(least)


def write_burst(burst: Burst) -> str:
    """As a record of the store, without the end of its turn, which the store's own clock tells."""
    return " ".join(map(str, (burst.first_ms, burst.last_ms, burst.letters, *burst.sketch)))


def read_turn(record: str) -> PastTurn | None:
    """A record as the store has it, the end of the turn in front; None for one that cannot be read."""
    try:
        ended, first, last, letters, *sketch = map(int, record.split())
    except ValueError:
        return None
    return PastTurn(Burst(first, last, letters, tuple(sketch)), ended)


def read_limited(value: str) -> Limited | None:
    rule, _, at = value.partition(" ")
    return Limited(rule, int(at)) if rule in RULES and at.isdecimal() else None
