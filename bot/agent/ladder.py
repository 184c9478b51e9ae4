"""What after an attempt that gave no words for the customer: the rungs, and the one function that chooses the next.

Every rung changes something real. A rung is tried once, in order, never downwards; beside them a turn may repeat
once after a failure that was not the model's choice, and once for each known repair of its request. The stub is
always reachable: it needs no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bot.agent.repairs import OF_THE_TALK, Repair
from bot.model_output import CallFault
from bot.verdict import Verdict

MAX_KICKS = 2
MAX_REPAIRS = 5  # of one model in one turn; what is learned of a server is not refused again


class Kick(StrEnum):
    NONE = "none"
    SYSTEM = "system"  # kick 1, at the end of the one system message
    USER = "user"  # kick 2, a trailing user note


@dataclass(frozen=True, slots=True)
class Rung:
    """`max_tokens` 0 means the model's own setting; `provider` is added to the model's preferences."""

    name: str
    model: str
    kick: Kick = Kick.NONE
    thinking: str = "default"  # default | off | an effort
    tools: bool = True
    flatten: bool = False  # tool results as plain words: another model cannot use the first one's tool steps
    max_tokens: int = 0
    provider: Mapping[str, Any] = field(default_factory=dict)
    is_fallback: bool = False  # another model than the first rung's, or the last try of the same one
    salvage: bool = False  # a rewrite of the reply that stayed in the reasoning; tried only when there is one


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one try of a rung ended. `rule` is the validator's word or the fault's; `verdict` is None for a failed call.

    `repair` is what would mend the request, `mended` what this attempt was already mended with. `last_step`: it was
    made at the forced last step. `bare`: it was asked again there, flattened and without tools.
    """

    rung: int
    rule: str
    verdict: Verdict | None = None
    fault: CallFault | None = None
    retry_after_seconds: float | None = None
    repeated: bool = False
    repair: Repair = Repair.NONE
    mended: Repair = Repair.NONE
    hint: str = ""
    last_step: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Try `rung` (an index), with what the last failure asks to be changed."""

    rung: int
    wait_seconds: float = 0.0
    more_tokens: bool = False
    other_provider: bool = False
    repeated: bool = False
    repair: Repair = Repair.NONE
    flatten: bool = False
    hint: str = ""
    bare: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No rung can help in the time that is left: the stub, the handover, the incident."""

    rule: str


TRANSPORT = frozenset({CallFault.CONNECT, CallFault.CUT, CallFault.OVERLOADED, CallFault.MALFORMED})
TOO_SHORT = frozenset({"budget_eaten", "length_cut"})


def default_ladder(*, main: str, fallback: str, max_kicks: int, salvage: bool = False) -> tuple[Rung, ...]:
    """The `[model]` shorthand spelled out; without a fallback model the main one is asked a last time, differently."""
    rungs = [Rung("main", main)]
    if max_kicks >= 1:
        rungs.append(Rung("kick_1", main, kick=Kick.SYSTEM))
    if max_kicks >= 2:
        rungs.append(Rung("kick_2", main, kick=Kick.USER, thinking="off", tools=False, flatten=True))
    rungs.append(Rung("fallback", fallback or main, thinking="off", flatten=True, is_fallback=True))
    if salvage:
        rungs.append(salvage_rung(fallback or main))
    return tuple(rungs)


def salvage_rung(model: str, name: str = "salvage") -> Rung:
    return Rung(name, model, thinking="off", tools=False, flatten=True, is_fallback=True, salvage=True)


def next_move(
    attempts: Sequence[Attempt],
    ladder: Sequence[Rung],
    *,
    seconds_left: float,
    shortest_call_seconds: float,
    fallback_seconds: float = 0.0,
    salvageable: bool = False,
) -> Ask | GiveUp:
    """The next rung. Attempts are counted for the whole turn, whatever kind of "no visible text" each one was:
    a guard that counted by kind let the second kind escape (opencrabs #978). `fallback_seconds` are kept back for the
    fallback model: a rung that would eat into them is skipped. `salvageable`: the reasoning of a failed attempt held
    a reply that passes every gate."""
    if not attempts:
        return Ask(0)
    last = attempts[-1]
    if seconds_left < shortest_call_seconds:
        return GiveUp(last.rule)
    above = [i for i in range(last.rung + 1, len(ladder)) if salvageable or not ladder[i].salvage]
    kept_back = fallback_seconds if keeps_time_back(ladder, last.rung) else 0.0
    hurried = seconds_left - kept_back < shortest_call_seconds
    if not hurried:
        same = _repair(attempts, ladder, last) or _repeat(
            attempts, last, seconds_left - kept_back, shortest_call_seconds
        )
        if same is not None:
            return same
    if last.last_step and not hurried and (bare := _bare(attempts, ladder, last, above)) is not None:
        return bare
    rung = _next_rung(attempts, ladder, last, above, hurried=hurried)
    if rung is None:
        return GiveUp(last.rule)
    return Ask(
        rung,
        more_tokens=last.rule in TOO_SHORT,
        other_provider=_blames_provider(last),
        hint=last.hint,
        bare=last.last_step,
    )


def keeps_time_back(ladder: Sequence[Rung], rung: int) -> bool:
    """Whether a fallback model waits above, for which time must be left."""
    return any(r.is_fallback and not r.salvage for r in ladder[rung + 1 :]) and not ladder[rung].is_fallback


def _blames_provider(last: Attempt) -> bool:
    return last.verdict is Verdict.EMPTY_NO_TOKENS or last.fault in TRANSPORT or last.rule == "stream_cut"


def _repair(attempts: Sequence[Attempt], ladder: Sequence[Rung], last: Attempt) -> Ask | None:
    """The same rung with a request that was mended; each cure is tried once, for each model where it is about one."""
    mine = ladder[last.rung].model
    tried = [a.mended for a in attempts if a.mended in OF_THE_TALK or (a.mended and ladder[a.rung].model == mine)]
    if last.repair is Repair.NONE or last.repair in tried or len(tried) >= MAX_REPAIRS:
        return None
    return Ask(last.rung, repair=last.repair, hint=last.hint, bare=last.bare)


def _repeat(
    attempts: Sequence[Attempt], last: Attempt, seconds_left: float, shortest_call_seconds: float
) -> Ask | None:
    """The same rung at another provider, where the failure was not the model's choice and the time allows it."""
    if not _blames_provider(last) or any(a.repeated for a in attempts):
        return None
    wait = last.retry_after_seconds or 0.0
    # Half of what is left must remain for the rungs above, or a polite wait would cost the reply.
    if wait > (seconds_left - shortest_call_seconds) / 2:
        return None
    # A silence right after tool results is met by telling them again as plain words.
    flatten = last.verdict is Verdict.EMPTY_NO_TOKENS
    return Ask(last.rung, wait_seconds=wait, other_provider=True, repeated=True, flatten=flatten, bare=last.bare)


def _bare(attempts: Sequence[Attempt], ladder: Sequence[Rung], last: Attempt, above: Sequence[int]) -> Ask | None:
    """The last step failed with its tools listed: the same model once more without them, all findings told as text."""
    if last.verdict is not Verdict.RETRY_REQUIRED or ladder[last.rung].is_fallback or any(a.bare for a in attempts):
        return None
    mine = ladder[last.rung].model
    rung = next((i for i in above if ladder[i].flatten and ladder[i].model == mine), last.rung)
    if ladder[rung].is_fallback:
        rung = last.rung
    return Ask(rung, more_tokens=last.rule in TOO_SHORT, flatten=True, hint=last.hint, bare=True)


def _next_rung(
    attempts: Sequence[Attempt], ladder: Sequence[Rung], last: Attempt, above: Sequence[int], *, hurried: bool
) -> int | None:
    fallback = next((i for i in above if ladder[i].is_fallback), None)
    zero_token_empties = sum(1 for a in attempts if a.verdict is Verdict.EMPTY_NO_TOKENS)
    main_cannot_help = (
        hurried
        or last.verdict is Verdict.FAILED_FALLBACK
        or last.bare
        or last.rule == "stream_cut"
        or zero_token_empties >= 2  # two identical ones are deterministic
        or (last.fault is not None and last.fault is not CallFault.THINKING_TOO_LONG)
    )
    if main_cannot_help:
        return fallback
    if last.fault is CallFault.THINKING_TOO_LONG:
        quiet = next((i for i in above if ladder[i].thinking == "off"), None)
        return quiet if quiet is not None else fallback
    return next(iter(above), None)
