"""Who watches tells: through the outbox, and itself when the worker that empties it is what has failed."""

from functools import partial

import pytest

from bot.alerts.alert import Alert
from monitoring.deafness import MOST_IN_A_ROW, Deafness, Hearing
from monitoring.store_watch import StoreWatch
from monitoring.watchdog import Judgement, ReceiverWatch, judge_dispatcher, judge_receiver, judge_workers
from runtime.embedded import EmbeddedValkey
from store.health import View
from tests.monitoring.watched import Watched, settings_with

pytestmark = pytest.mark.anyio


NO_WORKER = "No worker is running: customers get no replies."
WORKER_AGAIN = "A worker is running: customers get replies again."


async def test_a_system_that_is_just_starting_raises_nothing(watched: Watched) -> None:
    dispatchers, receivers = watched.watchdog(), watched.watchdog(judge_dispatcher)
    for watched.clock.now in (0, 30, 59):
        await dispatchers.look()
        await receivers.look()

    assert await watched.raised() == []
    assert watched.said == []


async def test_without_a_worker_the_dispatcher_tells_by_itself_and_once(watched: Watched) -> None:
    watchdog = watched.watchdog()
    for watched.clock.now in (0, 61, 66, 200, 4000):
        await watchdog.look()

    assert watched.said == [NO_WORKER]
    assert await watched.raised() == ["system:no_worker"]
    waiting = await watched.outbox.load("system:no_worker")
    assert waiting is not None
    assert (waiting.delivered, waiting.message_id) == (1, "1")  # so that a worker, once there, need not repeat it


async def test_several_watchers_say_a_thing_once_and_its_end_once(watched: Watched) -> None:
    watchdogs = [watched.watchdog() for _ in range(3)]

    async def look_at(*times: float) -> None:
        for watched.clock.now in times:
            for watchdog in watchdogs:
                await watchdog.look()

    await look_at(0, 61, 70)
    await watched.beat("worker", "dispatcher")
    await look_at(75, 99)
    too_early = list(watched.said)
    await look_at(106, 111)
    await watched.die("worker")
    await look_at(120, 400)

    assert too_early == [NO_WORKER]
    # The good news was left to the worker, which died again before it had told it: the watchers do, in order.
    assert watched.said == [NO_WORKER, WORKER_AGAIN, NO_WORKER]
    assert len({m["message_id"] for m in watched.telegram.messages}) == 3


async def test_a_watcher_that_missed_the_break_does_not_end_it_early(watched: Watched) -> None:
    saw_it, missed_it = watched.watchdog(), watched.watchdog()
    await watched.beat("worker")
    for watched.clock.now in (0, 60):
        await missed_it.look()
    await watched.die("worker")
    watched.clock.now = 64
    await saw_it.look()
    await watched.beat("worker")
    for watched.clock.now in (65, 90):
        await missed_it.look()
    early = await watched.raised()
    watched.clock.now = 95
    await missed_it.look()

    assert early == ["system:no_worker"]
    assert await watched.raised() == ["system:no_worker:recovered"]


async def test_the_end_is_raised_for_the_worker_to_deliver_and_told_if_it_does_not(watched: Watched) -> None:
    watchdog = watched.watchdog()
    for watched.clock.now in (0, 61):
        await watchdog.look()
    await watched.beat("worker", "dispatcher")
    for watched.clock.now in (70, 101):
        await watchdog.look()
    left_to_the_worker = list(watched.said)
    watched.clock.now = 162
    await watchdog.look()

    assert left_to_the_worker == [NO_WORKER]
    assert watched.said == [NO_WORKER, WORKER_AGAIN]
    assert "Lasted: " in watched.telegram.messages[1]["text"]


async def test_the_receiver_tells_that_the_dispatcher_is_gone(watched: Watched) -> None:
    await watched.beat("worker", "dispatcher")
    watchdog = watched.watchdog(judge_dispatcher)
    watched.clock.now = 100
    await watchdog.look()
    await watched.die("dispatcher")
    watched.clock.now = 105
    await watchdog.look()

    # At once: a worker lives, but there is nobody to hand it the alert.
    assert await watched.raised() == ["system:no_dispatcher"]
    assert watched.said == ["No dispatcher is running: new messages are kept, but nobody answers them."]


def miss(deafness: Deafness, times: int = MOST_IN_A_ROW) -> None:
    for _ in range(times):
        deafness.missed()


async def test_a_receiver_that_hears_nothing_tells_until_the_first_that_it_takes(watched: Watched) -> None:
    hearing = Hearing(Deafness(watched.clock), Deafness(watched.clock))
    watchdog = watched.watchdog(partial(judge_receiver, hearing))
    await watched.beat("worker", "dispatcher")
    miss(hearing.signed)
    for watched.clock.now in (0, 59, 60, 65):
        await watchdog.look()
    raised, report = await watched.raised(), await watched.health.report()
    metrics = await watched.health.metrics()
    hearing.signed.heard()
    for watched.clock.now in (66, 100):
        await watchdog.look()

    assert raised == ["system:deaf"]
    assert report["ok"] is False
    assert metrics["nightshift_open_incidents"] == {(("rule", "deaf"),): 1.0}
    assert "system:deaf:recovered" in await watched.raised()
    assert (await watched.health.report())["ok"] is True


async def test_the_managers_read_what_to_check(watched: Watched) -> None:
    hearing = Hearing(Deafness(watched.clock), Deafness(watched.clock))
    watchdog = watched.watchdog(partial(judge_receiver, hearing))
    miss(hearing.signed)
    miss(hearing.understood, 25)
    for watched.clock.now in (0, 61):
        await watchdog.look()

    said = "".join(watched.said)
    assert "META_APP_SECRETS" in said
    assert "(20 refused in a row)" in said
    assert "Include values" in said
    assert "(25 in a row)" in said


async def test_a_receiver_that_hears_does_not_end_the_alarm_of_one_that_does_not(watched: Watched) -> None:
    deaf, hears = (Hearing(Deafness(watched.clock), Deafness(watched.clock)) for _ in range(2))
    watchdogs = [watched.watchdog(partial(judge_receiver, hearing)) for hearing in (deaf, hears)]
    miss(deaf.signed)
    hears.signed.heard()
    for watched.clock.now in range(0, 200, 5):
        for watchdog in watchdogs:
            await watchdog.look()

    assert "system:deaf" in await watched.raised()
    assert "system:deaf:recovered" not in await watched.raised()


async def test_an_overdue_message_knows_no_grace(watched: Watched) -> None:
    await watched.beat("worker", "dispatcher")
    await watched.overdue_message()
    watchdog = watched.watchdog()

    await watchdog.look()

    assert await watched.raised() == ["system:overdue"]
    waiting = await watched.outbox.load("system:overdue")
    assert waiting is not None
    assert waiting.alert.detail == "1"
    [[_, received_ms]] = await watched.scripts.command("ZRANGE", "ns:open", 0, 0, "WITHSCORES")
    assert waiting.alert.waiting_since == float(received_ms)
    assert watched.said == []  # the worker lives: it has a minute to deliver this


async def test_a_telegram_that_fails_is_tried_again(watched: Watched) -> None:
    watchdog = watched.watchdog()
    watched.telegram.refuse_next(500, "Internal Server Error")
    for watched.clock.now in (0, 61):
        await watchdog.look()
    failed = list(watched.said)
    await watched.scripts.command("DEL", "ns:telling:system:no_worker")  # the half minute of the lock is over
    await watchdog.look()

    assert failed == []
    assert watched.said == [NO_WORKER]


async def test_without_telegram_the_log_says_it_at_error(
    watched: Watched, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    watchdog = watched.watchdog(settings=settings_with("http://127.0.0.1:9", token=""))
    for watched.clock.now in (0, 61, 66):
        await watchdog.look()

    logged = caplog.text + "".join(capsys.readouterr())
    assert logged.count("alert_without_telegram") == 1
    assert "no_worker" in logged


@pytest.mark.parametrize("by_receiver", [False, True])
async def test_after_an_outage_of_redis_the_others_get_time_to_be_heard(
    watched: Watched, valkey: EmbeddedValkey, by_receiver: bool
) -> None:
    watchdog = watched.watchdog(judge_dispatcher)
    store = StoreWatch(
        watched.health, watched.scripts, watched.alerts(), clock=watched.clock, clock_ms=watched.clock.ms
    )
    look = ReceiverWatch(store, watchdog).look if by_receiver else watchdog.look
    watched.clock.now = 100
    valkey.kill()
    await look()
    valkey.restart()
    watched.clock.now = 130
    await look()
    in_grace = await watched.raised()
    watched.clock.now = 161
    await look()

    assert in_grace == []
    assert await watched.raised() == ["system:no_dispatcher"]


def test_judges_answer_only_what_they_can_know() -> None:
    nobody = View((), 0, 0.0, 0, 0, 0, 0, 0)
    everybody = View(("worker h:1", "dispatcher h:2"), 5, 9.0, 0, 0, 0, 0, 0)

    def judged(judge: object, view: View, seconds: float) -> Judgement:
        return judge(view, watched_seconds=seconds)  # type: ignore[operator, no-any-return]

    assert judged(judge_workers, nobody, 10) == {"overdue": None}
    assert judged(judge_workers, nobody, 60) == {"overdue": None, "no_worker": Alert("no_worker")}
    assert judged(judge_workers, everybody, 0) == {"overdue": None, "no_worker": None}
    assert judged(judge_dispatcher, nobody, 10) == {}
    assert judged(judge_dispatcher, everybody, 0) == {"no_dispatcher": None}
