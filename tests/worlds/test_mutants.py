"""The worlds find each thing that is wrong with a script, within so many of them."""

import pytest

from tests.worlds.books import PromiseBroken
from tests.worlds.mutants import OTHERS, Mutant, fences
from tests.worlds.valkey import Texts, WorldValkey, product_texts
from tests.worlds.world import World

WORLDS = 150  # most are found in the first ten


@pytest.mark.parametrize("mutant", [*fences(product_texts()), *OTHERS], ids=lambda mutant: mutant.name)
def test_what_is_wrong_is_found(mutant: Mutant, world_valkey: WorldValkey, texts: Texts) -> None:
    wrong = mutant.texts(texts)

    assert any(_is_found(World(world_valkey, wrong, mutant.weather, seed)) for seed in range(1, WORLDS + 1))


def test_every_script_that_decides_has_a_fence(texts: Texts) -> None:
    """The worlds hold each call with a lease's token against it; here it is only seen that the fences are found."""
    found = {mutant.script for mutant in fences(texts)}

    assert {"plan", "begin_part", "finish", "hold", "reread", "abandon", "take_back_part", "renew"} <= found


def _is_found(world: World) -> bool:
    try:
        world.play()
    except PromiseBroken:
        return True
    return False
