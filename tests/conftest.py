import signal

import pytest


def pytest_configure() -> None:
    """Whoever runs the tests in the background of a shell has them ignore Ctrl-C, and all that they start with them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
