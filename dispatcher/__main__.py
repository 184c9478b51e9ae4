"""`python -m dispatcher`: hands what is due to Celery, and watches the workers."""

import asyncio
import signal
import sys

from dispatcher.rounds import LONGEST_SLEEP_SECONDS, Dispatcher
from monitoring.watchdog import watch_workers
from runtime import queue
from runtime.background import Background
from runtime.logging import configure_logging, get_logger
from runtime.sentry import init_sentry
from runtime.settings import Settings
from runtime.start import say_warnings, start_process
from store.connection import connect
from store.failure_counts import count_in
from store.health import SystemHealth
from store.schedule import Schedule
from store.scripts import Scripts
from store.server.clock_watch import ClockWatch
from store.server.start import refuse_unfit_store

log = get_logger("dispatcher")


async def _main(settings: Settings) -> None:
    client = connect(
        settings.env.redis_url,
        max_connections=4,
        timeout_seconds=LONGEST_SLEEP_SECONDS + 3,
        client_name="nightshift-dispatcher",
    )
    scripts = Scripts(client)
    schedule = Schedule(scripts)
    background = Background(count=count_in(scripts))
    health, clock_watch = SystemHealth(scripts, settings), ClockWatch(scripts, settings)
    dispatcher = Dispatcher(schedule, health, queue.make_celery(settings), clock_watch, background=background)
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, dispatcher.stop)
    log.info("dispatcher_started")
    background.keep("watch_workers", lambda: watch_workers(settings))
    try:
        await dispatcher.run()
    finally:
        await schedule.aclose()
        await client.aclose()
        log.info("dispatcher_stopped")


def main() -> int:
    settings = start_process("dispatcher")
    configure_logging("dispatcher", settings)
    init_sentry("dispatcher", settings)
    refuse_unfit_store(settings)
    say_warnings(settings)
    asyncio.run(_main(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
