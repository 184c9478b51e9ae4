"""The scripts with one thing wrong in each copy: what the worlds have to find.

A fence is whatever turns a caller away that does not hold the lease. It is found by how it is written, in whichever
script it stands, so that a new script with a fence is tried without being named here.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.worlds import weather
from tests.worlds.valkey import Texts
from tests.worlds.weather import Weather

_FENCE = re.compile(r"if not holds\((?:[^()\n]|\[[^]\n]*\])*\) then return [^\n]*? end\b")
# Where a script runs seldom, its fence is looked for in a weather in which it runs more often.
_FENCE_WEATHER = {
    "abandon": weather.FAILING,
    "hold": weather.DOUBT,
    "hold_for_account": weather.MISSING,
    "reread": weather.DOUBT,
    "take_back_part": weather.REPLICAS,
}


@dataclass(frozen=True)
class Mutant:
    """`weather` is that of the worlds in which it is looked for."""

    name: str
    script: str
    change: Callable[[str], str]
    weather: Weather

    def texts(self, texts: Texts) -> Texts:
        """All scripts, this one changed. Raises AssertionError where there is nothing to change."""
        changed = self.change(texts[self.script][1])
        if changed == texts[self.script][1]:
            raise AssertionError(f"{self.name}: {self.script}.lua is not written as this mutant expects")
        digest = hashlib.sha1(changed.encode(), usedforsecurity=False).hexdigest()
        return {**texts, self.script: (digest, changed)}


def fences(texts: Texts) -> list[Mutant]:
    """One for each script that has a fence: without it."""
    return [
        Mutant(
            f"no fence in {name}",
            name,
            lambda text: _FENCE.sub("", text),
            replace(_FENCE_WEATHER.get(name, weather.STALE), strays_of=(name,)),
        )
        for name, (_, text) in sorted(texts.items())
        if _FENCE.search(text)
    ]


def _instead(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


OTHERS = (
    Mutant(
        "a doubtful part of a vanished turn is sent again",
        "claim",
        _instead("i .. ':state', 'unknown')", "i .. ':state', 'failed')"),
        weather.DOUBT,
    ),
    Mutant(
        "a send whose answer was lost is sent again",
        "record_part",
        _instead("if plan[1] ~= plan_id", "if state == 'unknown' then state = 'failed' end\nif plan[1] ~= plan_id"),
        weather.DOUBT,
    ),
    Mutant(
        "a live lease is taken",
        "claim",
        _instead("lease_until > NOW and", "false and"),
        weather.OVERDUE,
    ),
    Mutant(
        "a send may begin at the end of the lease",
        "begin_part",
        _instead("< MARGIN then", "< -MARGIN then"),
        weather.LATE,
    ),
    Mutant(
        "a human's words drop a reply of which something has arrived",
        "receive",
        _instead("if something_arrived(cid) then return end -- what is on its way", "-- what is on its way"),
        replace(weather.DOUBT, acts=0.4, messages=2, humans=4, edits=0, deletions=0),
    ),
    Mutant(
        "an edit drops a reply of which something has arrived",
        "receive",
        _instead("if something_arrived(cid) then return false end", ""),
        replace(weather.DOUBT, humans=0, edits=4, deletions=0),
    ),
    Mutant(
        "what is open expires",
        "receive",
        _instead("redis.call('PERSIST', at(cid)) == 1", "false"),
        weather.STORM,
    ),
    Mutant(
        "what came during a turn is forgotten",
        "finish",
        _instead("settle_down(cid)\nreturn", "rest(cid)\nreturn"),
        weather.STORM,
    ),
    Mutant(
        "handing out takes it out of the schedule",
        "pop_due",
        _instead("redis.call('ZADD', ns.due, NOW + REDO, cid)", "redis.call('ZREM', ns.due, cid)"),
        weather.STORM,
    ),
    Mutant(
        "a message that comes twice is stored twice",
        "receive",
        _instead("if seen[1] and not reopened then return count_event('duplicate') end", ""),
        weather.STORM,
    ),
    Mutant(
        "a refused send counts as sent",
        "record_part",
        _instead("if plan[1] ~= plan_id", "if state == 'failed' then state = 'sent' end\nif plan[1] ~= plan_id"),
        weather.STORM,
    ),
)
