"""The core as it is keeps every promise in every world: those of fixed seeds, and some that nobody has seen before."""

import random
from collections import Counter

import pytest

from tests.worlds.valkey import Texts, WorldValkey
from tests.worlds.weather import ALL, STORM, Weather
from tests.worlds.world import World

KNOWN_SEEDS = range(1, 11)
NEW_WORLDS = 5
RARE = ("handed_over", "undeliverable", "expired", "silenced")


@pytest.mark.parametrize("weather", ALL, ids=lambda weather: weather.name)
def test_every_promise_is_kept(weather: Weather, world_valkey: WorldValkey, texts: Texts) -> None:
    new = [random.SystemRandom().randrange(1_000_000, 1_000_000_000) for _ in range(NEW_WORLDS)]

    outcomes: Counter[str] = Counter()
    for seed in (*KNOWN_SEEDS, *new):
        outcomes += Counter(World(world_valkey, texts, weather, seed).play().outcomes)

    assert outcomes["answered"]  # a world in which nothing happens keeps every promise, too


def test_a_seed_is_a_world_that_can_be_seen_again(world_valkey: WorldValkey, texts: Texts) -> None:
    first, again = (World(world_valkey, texts, STORM, 7).play() for _ in range(2))

    assert first.outcomes == again.outcomes
    assert first.steps == again.steps
    assert first.deeds == again.deeds


def test_another_seed_is_another_world(world_valkey: WorldValkey, texts: Texts) -> None:
    one, other = (World(world_valkey, texts, STORM, seed).play() for seed in (7, 8))

    assert one.deeds != other.deeds
