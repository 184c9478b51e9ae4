"""Who writes what and when: a workload that is the same for the same seed, and can be told from its words alone.

Every line of a customer holds a marker, an invented word that occurs nowhere else, and the stand-in's model says it
back. So it can be counted how often each message was answered, whatever happened to processes in between.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.incoming.events import Channel
from rehearsal.faults.fault import Fault

_SYLLABLES = ("ба", "ве", "ги", "до", "жу", "ка", "ле", "ми", "но", "пу")
MARKER = re.compile(rf"Лу(?:{'|'.join(_SYLLABLES)})+тэль")
_OPENERS = (
    "Здравствуйте, расскажите про {}",
    "Добрый день! А {} у вас бывает?",
    "Подскажите, пожалуйста, насчёт {}",
    "Очень нравится {}, с чего начать новичку?",
    "Хочу подарить маме {}, поможете выбрать?",
    "А про {} можно подробнее?",
)
INJECTION_GAP_SECONDS = 4.5
INJECTED_WEIGHT = 3
BUILD_UP_SECONDS = 0.9  # from a scene's first words to its fault: some turns think by then, some have not begun


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    marker: str
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Burst:
    after_seconds: float
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """`place` counts the people of one scene from 0; `starts_at` is in seconds from the curtain.

    `thinks_seconds` and `sends_seconds` are how long the model and Meta take for this customer: a fault must find
    turns in every state.
    """

    customer_id: str
    channel: Channel
    place: int
    starts_at: float
    searches: bool
    bursts: tuple[Burst, ...]
    thinks_seconds: float = 0.0
    sends_seconds: float = 0.0

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(line for burst in self.bursts for line in burst.lines)


@dataclass(frozen=True, slots=True)
class Scene:
    fault: Fault
    strikes_at: float
    people: tuple[Person, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    seed: int
    scenes: tuple[Scene, ...]

    @property
    def conversations(self) -> int:
        return sum(len(scene.people) for scene in self.scenes)

    @property
    def seconds(self) -> float:
        """Until the last fault has struck and the last customer has begun."""
        starts = [person.starts_at for scene in self.scenes for person in scene.people]
        return max([*starts, *(scene.strikes_at for scene in self.scenes)], default=0.0)


def make_workload(faults: Sequence[Fault], *, seed: int, conversations: int, minutes: float = 0.0) -> Workload:
    """At least one conversation for each fault. With `minutes` the whole play is given again until they are over."""
    chance = random.Random(seed)  # noqa: S311 - a workload that can be repeated
    markers = _markers()
    scenes: list[Scene] = []
    start = 0.0
    while not scenes or start < minutes * 60:
        once = _play(faults, chance, conversations, start, markers)
        scenes += once
        start = max(Workload(seed, tuple(once)).seconds + INJECTION_GAP_SECONDS, start + 1.0)
    return Workload(seed, tuple(scenes))


def _play(
    faults: Sequence[Fault], chance: random.Random, conversations: int, start: float, markers: Iterator[str]
) -> list[Scene]:
    """Staged faults follow each other; the faults of single conversations happen at any time in between."""
    order = list(faults)
    chance.shuffle(order)
    weights = [INJECTED_WEIGHT if fault.injected else 1 for fault in order]
    span = max(sum(_slot(fault) for fault in order), 1.0)
    scenes: list[Scene] = []
    opens_next = start
    for fault, weight in zip(order, weights, strict=True):
        count = max(round(conversations * weight / sum(weights)), 1)
        if fault.injected:
            opens = opens_next
            opens_next += _slot(fault)
            starts = [opens + chance.uniform(0, 1.6) for _ in range(count)]
            starts[0] = opens
        else:
            opens = start
            starts = [start + chance.uniform(0, span) for _ in range(count)]
        people = tuple(_person(fault, place, at, chance, markers) for place, at in enumerate(starts))
        scenes.append(Scene(fault, opens + BUILD_UP_SECONDS, people))
    return sorted(scenes, key=lambda scene: scene.strikes_at)


def _slot(fault: Fault) -> float:
    """Seconds of the injector's time that are this fault's own."""
    return max(INJECTION_GAP_SECONDS, fault.lasts_seconds + 1.5) if fault.injected else 0.0


def _person(fault: Fault, place: int, starts_at: float, chance: random.Random, markers: Iterator[str]) -> Person:
    bursts = []
    for number in range(fault.bursts):
        lines = []
        for _ in range(fault.lines or chance.choice((1, 1, 2, 3))):
            marker = next(markers)
            lines.append(Line(chance.choice(_OPENERS).format(marker), marker, chance.uniform(0.0, 0.15)))
        bursts.append(Burst(chance.uniform(0.3, 4.0) if number else 0.0, tuple(lines)))
    return Person(
        customer_id=f"900{chance.randrange(10**13):013d}",
        channel=chance.choice((Channel.INSTAGRAM, Channel.MESSENGER)),
        place=place,
        starts_at=starts_at,
        searches=fault.injected and chance.random() < 0.25,
        bursts=tuple(bursts),
        thinks_seconds=chance.uniform(0.0, 3.0) if fault.injected else 0.0,
        sends_seconds=chance.choice((0.0, 0.0, 1.5)) if fault.injected else 0.0,
    )


def _markers() -> Iterator[str]:
    number = 100
    while True:
        yield "Лу" + "".join(_SYLLABLES[int(digit)] for digit in str(number)) + "тэль"
        number += 1
