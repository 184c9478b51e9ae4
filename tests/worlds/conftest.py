from collections.abc import Iterator

import pytest
import structlog

from runtime.embedded import EmbeddedValkey
from tests.worlds.valkey import Texts, WorldValkey, product_texts


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    """What the product has to say of thousands of faults, each of them meant, would be all that is read."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.configure(**before)


@pytest.fixture(scope="module")
def world_valkey() -> Iterator[WorldValkey]:
    with EmbeddedValkey() as server:
        valkey = WorldValkey(server.url)
        yield valkey
        valkey.close()


@pytest.fixture(scope="session")
def texts() -> Texts:
    return product_texts()
