"""Every way into silence of the model stand-in's catalogue, and which rungs are asked for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from worker.agent.agent import AgentResult

FALLBACK = ("main", "fallback")
KICKED = ("main", "kick_1", "kick_2", "fallback")
REPEATED = ("main", "main", "fallback")


@dataclass(frozen=True)
class Row:
    """`rule` is what the telemetry calls it; `rungs` the rungs asked when it plays for good, the second of which
    rescues a fault that plays once. `whole` is the rule where a server that does not stream makes it another fault."""

    rule: str
    rungs: Sequence[str]
    whole: "Row | None" = None


@dataclass(frozen=True)
class Fit:
    """Not a failure: this is what the customer reads."""

    text: str


# What only time can tell, with the rungs asked in a budget of four seconds.


LOCK = Row("reasoning_lock", KICKED)
MALFORMED = Row("malformed", REPEATED)

TIMED: dict[str, Row] = {
    "hang": Row("no_first_byte", FALLBACK),
    "keepalive_forever": Row("no_first_byte", FALLBACK),
    "stall": Row("idle", FALLBACK),
    "drip": Row("deadline", FALLBACK),
    "thinking_forever": Row("thinking_too_long", ("main", "kick_2", "fallback")),
    "blanks_forever": Row("thinking_too_long", ("main", "kick_2", "fallback")),
}


def rungs(result: AgentResult) -> tuple[str, ...]:
    return tuple(attempt.rung for attempt in result.attempts)
