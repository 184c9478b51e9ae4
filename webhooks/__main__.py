"""`python -m webhooks`: the receiver process (`web` in the Procfile)."""

import gc
import logging
import signal
import sys
from types import FrameType

import uvicorn

from runtime.logging import configure_logging, get_logger
from runtime.sentry import init_sentry
from runtime.settings import SettingsInvalid, load_settings
from runtime.store_start import refuse_unfit_store
from webhooks.app import open_app
from webhooks.heads import BoundedHead, StrangersOnce

log = get_logger(__name__)


def main() -> int:
    """0 after an orderly stop, 1 when the server could not start, 2 for a wrong environment or an unfit Redis."""
    try:
        settings = load_settings()
    except SettingsInvalid as exc:
        sys.stderr.write(f"{exc}\n")
        return 2
    configure_logging("web", settings)
    init_sentry("web", settings)
    refuse_unfit_store(settings)
    config = uvicorn.Config(
        open_app(settings),
        host="0.0.0.0",  # noqa: S104 - a container's address is not known beforehand; the proxy in front decides
        port=settings.env.port,
        loop="uvloop",
        http=BoundedHead,
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
    full one walks through all imported code: 30 ms in which nobody is answered."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _already_stopped(_number: int, _frame: FrameType | None) -> None:
    log.info("receiver_stopped")


if __name__ == "__main__":
    sys.exit(main())
