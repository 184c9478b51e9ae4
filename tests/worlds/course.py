"""What all parts of a world share: its chance, its time, its books, and what has happened so far."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from bot.incoming.events import Event
from tests.worlds.books import Books
from tests.worlds.edges import Process
from tests.worlds.meta import Meta
from tests.worlds.valkey import Texts, WorldValkey
from tests.worlds.virtual_loop import VirtualLoop
from tests.worlds.weather import Weather

BEGAN_AT = 1_900_000_000_000  # the server's clock at a world's first moment, later than any true one
_CHANCE = re.compile(r"\b[0-9a-f]{12,16}\b|(?<= )[0-9.]+(?= s pass)|(?<=\d ) *[0-9]+\.[0-9]{3}(?=  )")


@dataclass
class Course:
    """`webhooks` are what Meta has still to tell, each from a moment on. `is_calm`: nothing breaks any more.

    `kill` ends a process and starts another in its place.
    """

    weather: Weather
    chance: random.Random
    loop: VirtualLoop
    valkey: WorldValkey
    texts: Texts
    books: Books
    meta: Meta
    kill: Callable[[Process], None]
    steps: int = 0
    jumped_ms: int = 0
    is_calm: bool = False
    webhooks: list[tuple[float, Event]] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def moment(self) -> float:
        """Seconds since the world began."""
        return self.loop.moment

    @property
    def server_time(self) -> int:
        """What the store's clock says, in milliseconds."""
        return self.true_time + self.jumped_ms

    @property
    def true_time(self) -> int:
        return BEGAN_AT + round(self.loop.moment * 1000)

    def happens(self, chance: float) -> bool:
        """Whether something breaks that does so with this chance; in the calm it never does."""
        return not self.is_calm and self.chance.random() < chance

    def say(self, what: str) -> None:
        self.trace.append(f"{self.steps:5} {self.loop.moment:10.3f}  {what}")

    def tell_later(self, event: Event, seconds: float = 0.0) -> None:
        self.webhooks.append((self.moment + seconds, event))

    def told_now(self) -> list[tuple[float, Event]]:
        return [webhook for webhook in self.webhooks if webhook[0] <= self.moment]


def deeds_of(trace: list[str]) -> list[str]:
    """A trace without what differs each time: tokens, what the store answers of them, and milliseconds, since its times
    to live go on while a world is played."""
    return [_CHANCE.sub("", line.partition(" -> ")[0]) for line in trace]
