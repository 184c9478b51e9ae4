"""What after an attempt that gave no words for the customer: the rungs, and the one function that climbs them.

Every rung changes something real. A rung is climbed once, in order, never downwards; beside them a turn may repeat
once after a transport failure and once after a repair of its request. The stub is always reachable: it needs no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.model_output import CallFault
from bot.validation import Verdict


class Kick(StrEnum):
    NONE = "none"
    SYSTEM = "system"  # kick 1, at the end of the one system message
    USER = "user"  # kick 2, a trailing user note


@dataclass(frozen=True, slots=True)
class Rung:
    name: str
    model: str
    kick: Kick = Kick.NONE
    thinking: str = "default"  # default | off | an effort
    tools: bool = True
    flatten: bool = False  # tool results as plain words: another model cannot use the first one's tool steps
    is_fallback: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one climb ended. `rule` is the validator's word or the fault's; `verdict` is None for a failed call."""

    rung: int
    rule: str
    verdict: Verdict | None = None
    fault: CallFault | None = None
    retry_after_seconds: float | None = None
    repeated: bool = False
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Climb `rung` (an index), with what the last failure asks to be changed."""

    rung: int
    wait_seconds: float = 0.0
    more_tokens: bool = False
    other_provider: bool = False
    repeated: bool = False
    repaired: bool = False
    flatten: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No rung can help in the time that is left: the stub, the handover, the incident."""

    rule: str


TRANSPORT = frozenset({CallFault.CONNECT, CallFault.CUT, CallFault.OVERLOADED, CallFault.MALFORMED})
SLOW = frozenset({CallFault.NO_FIRST_BYTE, CallFault.IDLE, CallFault.DEADLINE})
OUR_REQUEST = frozenset({CallFault.BAD_REQUEST, CallFault.CONTEXT_TOO_LONG})
TOO_SHORT = frozenset({"budget_eaten", "length_cut"})


def default_ladder(*, main: str, fallback: str, max_kicks: int) -> tuple[Rung, ...]:
    """The `[model]` shorthand spelled out; without a fallback model the main one is asked a last time, differently."""
    rungs = [Rung("main", main)]
    if max_kicks >= 1:
        rungs.append(Rung("kick_1", main, kick=Kick.SYSTEM))
    if max_kicks >= 2:
        rungs.append(Rung("kick_2", main, kick=Kick.USER, thinking="off", tools=False, flatten=True))
    rungs.append(Rung("fallback", fallback or main, thinking="off", flatten=True, is_fallback=True))
    return tuple(rungs)


def next_move(
    attempts: Sequence[Attempt],
    ladder: Sequence[Rung],
    *,
    seconds_left: float,
    shortest_call_seconds: float,
    fallback_seconds: float = 0.0,
) -> Ask | GiveUp:
    """The next rung. Attempts are counted for the whole turn, whatever kind of "no visible text" each one was:
    a guard that counted by kind let the second kind escape (opencrabs #978). `fallback_seconds` are kept back for the
    fallback model: a rung that would eat into them is skipped."""
    if not attempts:
        return Ask(0)
    last = attempts[-1]
    if seconds_left < shortest_call_seconds:
        return GiveUp(last.rule)
    kept_back = 0.0 if ladder[last.rung].is_fallback else fallback_seconds
    hurried = seconds_left - kept_back < shortest_call_seconds
    same = None if hurried else _repeat(attempts, last, seconds_left - kept_back, shortest_call_seconds)
    if same is not None:
        return same
    rung = _next_rung(attempts, ladder, last, hurried=hurried)
    if rung is None:
        return GiveUp(last.rule)
    return Ask(
        rung,
        more_tokens=last.rule in TOO_SHORT,
        other_provider=last.verdict is Verdict.EMPTY_NO_TOKENS or last.fault in TRANSPORT,
        flatten=last.fault in OUR_REQUEST,
    )


def _repeat(
    attempts: Sequence[Attempt], last: Attempt, seconds_left: float, shortest_call_seconds: float
) -> Ask | None:
    """The same rung again, where the failure was not the model's choice and the time allows it."""
    broken = last.fault in TRANSPORT or last.rule == "stream_cut"
    if broken and not any(a.repeated for a in attempts):
        wait = last.retry_after_seconds or 0.0
        # Half of what is left must remain for the rungs above, or a polite wait would cost the reply.
        if wait <= (seconds_left - shortest_call_seconds) / 2:
            return Ask(last.rung, wait_seconds=wait, other_provider=True, repeated=True)
    if last.fault in OUR_REQUEST and not any(a.repaired for a in attempts):
        return Ask(last.rung, repaired=True, flatten=True)
    return None


def _next_rung(attempts: Sequence[Attempt], ladder: Sequence[Rung], last: Attempt, *, hurried: bool) -> int | None:
    above = range(last.rung + 1, len(ladder))
    fallback = next((i for i in above if ladder[i].is_fallback), None)
    zero_token_empties = sum(1 for a in attempts if a.verdict is Verdict.EMPTY_NO_TOKENS)
    main_cannot_help = (
        hurried
        or last.verdict is Verdict.FAILED_FALLBACK
        or zero_token_empties >= 2  # two identical ones are deterministic
        or (last.fault is not None and last.fault is not CallFault.THINKING_TOO_LONG)
    )
    if main_cannot_help:
        return fallback
    if last.fault is CallFault.THINKING_TOO_LONG:
        quiet = next((i for i in above if ladder[i].thinking == "off"), None)
        return quiet if quiet is not None else fallback
    return next(iter(above), None)
