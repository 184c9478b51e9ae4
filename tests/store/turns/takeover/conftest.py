import pytest

from runtime.settings import Settings, Shift
from store.scripts import Scripts
from tests.store.turns.takeover.bench import Bench


@pytest.fixture
def settings(settings: Settings) -> Settings:
    config = settings.config.model_copy(update={"shift": Shift(takeover_minutes=60)})
    return settings.model_copy(update={"config": config})


@pytest.fixture
def bench(scripts: Scripts, settings: Settings) -> Bench:
    return Bench(scripts, settings)
