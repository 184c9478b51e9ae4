"""`python -m webhooks`: the receiver process (`web` in the Procfile)."""

import gc
import logging
import signal
import sys
from types import FrameType

import uvicorn

from runtime.logging import configure_logging, get_logger
from runtime.open_files import raise_open_files
from runtime.sentry import init_sentry
from runtime.start import start_process
from store.server.start import refuse_unfit_store
from webhooks.app import open_app
from webhooks.guards.connections import Connections, most_connections
from webhooks.guards.heads import StrangersOnce, bounded_by

log = get_logger(__name__)


def main() -> int:
    """0 after an orderly stop, 1 when the server could not start; 2 for a wrong configuration or an unfit Redis."""
    settings = start_process("web")
    configure_logging("web", settings)
    init_sentry("web", settings)
    refuse_unfit_store(settings)
    connections = Connections(most_connections(raise_open_files()))
    config = uvicorn.Config(
        open_app(settings, connections),
        host=settings.env.host,
        port=settings.env.port,
        loop="uvloop",
        http=bounded_by(connections),
        ws="none",
        lifespan="on",
        proxy_headers=False,  # nothing here asks who is calling, and the wrapper costs every POST
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=75,  # longer than the 60 s of common proxies, or they race our closing
        timeout_graceful_shutdown=10,
    )
    config.load()
    logging.getLogger("uvicorn.error").addFilter(StrangersOnce())
    _spare_the_collector()
    server = uvicorn.Server(config)
    # uvicorn raises the signal that stopped it once more when all is done, which would end an orderly stop as a death.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _already_stopped)
    try:
        server.run()
    except SystemExit:  # uvicorn's own way out when the port is taken or the start failed
        return 1
    return 0 if server.started else 1


def _spare_the_collector() -> None:
    """A POST leaves next to no cycles behind, yet makes enough objects to start a collection every few POSTs, and a
    full one walks through all imported code: 30 ms in which no request is answered."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _already_stopped(_number: int, _frame: FrameType | None) -> None:
    log.info("receiver_stopped")


if __name__ == "__main__":
    sys.exit(main())
