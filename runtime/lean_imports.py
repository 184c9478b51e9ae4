"""Imports a library without an optional part that it would take along wherever it finds it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden(name: str) -> Iterator[None]:
    """Within the block the module `name` does not exist, unless it is imported already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # Python's own way to say so
    try:
        yield
    finally:
        del sys.modules[name]
