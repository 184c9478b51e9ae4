"""The ladder as an operator declares it in `[[ladder]]`: checked as a whole, then turned into rungs."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bot.agent.ladder import MAX_KICKS, Kick, Rung, salvage_rung


class Declared(Protocol):
    """One `[[ladder]]` entry."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def kick(self) -> Kick: ...
    @property
    def thinking(self) -> str: ...
    @property
    def tools(self) -> bool: ...
    @property
    def flatten(self) -> bool: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def provider(self) -> Mapping[str, Any]: ...
    @property
    def salvage(self) -> bool: ...
    @property
    def stub(self) -> bool: ...


EFFORTS = ("default", "off", "minimal", "low", "medium", "high", "xhigh", "max")


def ladder_faults(entries: Sequence[Declared]) -> list[str]:
    """Why this ladder must not be used, in the operator's words; none for an empty one, the shorthand then holds."""
    if not entries:
        return []
    faults: list[str] = []
    if not entries[-1].stub:
        faults.append("the last entry must be the stub (stub = true), or a silent model would end in silence")
    if any(entry.stub for entry in entries[:-1]):
        faults.append("the stub comes last: nothing after it would ever be asked")
    rungs = [entry for entry in entries if not entry.stub]
    if not any(not entry.salvage for entry in rungs):
        faults.append("no entry asks a model")
    elif rungs[0].salvage:
        faults.append("the first entry cannot salvage: there is no reasoning yet")
    for number, entry in enumerate(rungs, start=1):
        who = entry.name or f"entry {number}"
        if not entry.model:
            faults.append(f'{who}: model is missing; write "main", "fallback" or a model\'s own name')
        if entry.thinking not in EFFORTS:
            faults.append(f"{who}: thinking is one of {', '.join(EFFORTS)}")
        if 0 < entry.max_tokens < 256:
            faults.append(f"{who}: max_tokens leaves no room for an answer; at least 256, or 0 for the model's own")
    if sum(entry.kick is not Kick.NONE for entry in rungs) > MAX_KICKS:
        faults.append(f"at most {MAX_KICKS} entries may kick")
    names = [_name(entry, number) for number, entry in enumerate(rungs)]
    faults += [f"two entries are called {name}" for name in dict.fromkeys(names) if names.count(name) > 1]
    return faults


def declared_ladder(entries: Sequence[Declared], main: str, fallback: str) -> tuple[Rung, ...]:
    """The rungs without the stub, which is always there. `is_fallback`: any model but that of the first rung."""
    slugs = {"main": main, "fallback": fallback or main}
    rungs: list[Rung] = []
    for number, entry in enumerate(entries):
        if entry.stub:
            continue
        model, name = slugs.get(entry.model, entry.model), _name(entry, number)
        if entry.salvage:
            rungs.append(salvage_rung(model, name))
            continue
        rungs.append(
            Rung(
                name,
                model,
                kick=entry.kick,
                thinking=entry.thinking,
                tools=entry.tools,
                flatten=entry.flatten or bool(rungs and model != rungs[0].model),
                max_tokens=entry.max_tokens,
                provider=entry.provider,
                is_fallback=entry.model == "fallback" or bool(rungs and model != rungs[0].model),
            )
        )
    return tuple(rungs)


def _name(entry: Declared, number: int) -> str:
    return entry.name or f"rung_{number + 1}"
