"""Processes die, Redis goes away, Telegram refuses: what hits everybody at once, while customers write."""

import signal

from rehearsal.customers import Customers, reply_with
from rehearsal.fault_injector import FaultInjector
from rehearsal.faults.fault import HANDED_OVER, Fault
from rehearsal.workload import Person
from sandbox.meta.faults import Fault as GraphFault
from sandbox.model.answers import Answer
from sandbox.model.faults import FAULTS

LEASE_AND_MORE_SECONDS = 19.0


def _nothing(_: FaultInjector) -> None:
    """Nothing is broken: what happens without any fault."""


def _model_is_locked(customers: Customers, person: Person) -> None:
    """Each conversation ends in a handover, so that there is something to tell Telegram."""
    customers.model_plays(person, for_good=FAULTS["reasoning_lock"])


def _worker_replaced(injector: FaultInjector) -> None:
    """The other one is ready before the first is killed."""
    injector.start("worker")
    first = injector.aliases("worker")[0]
    injector.later(3.0, lambda: _end(injector, first, signal.SIGKILL))


def _worker_deployed(injector: FaultInjector) -> None:
    """A rolling restart: the new one starts, the old one is told to end."""
    first = injector.aliases("worker")[0]
    injector.start("worker")
    injector.later(2.0, lambda: injector.retire(first))


def _worker_frozen(injector: FaultInjector) -> None:
    """Frozen for longer than its leases last, beside another one; then it goes on as if no time had passed."""
    injector.freeze("worker", LEASE_AND_MORE_SECONDS)
    injector.start("worker")


def _worker_killed_twice(injector: FaultInjector) -> None:
    injector.kill("worker")
    injector.later(4.0, lambda: injector.kill("worker"))


def _redis_killed_twice(injector: FaultInjector) -> None:
    injector.kill_redis()
    injector.later(3.0, injector.kill_redis)


def _broker_flushed(injector: FaultInjector) -> None:
    injector.flush_broker()
    injector.later(0.7, injector.flush_broker)


def _redis_full(injector: FaultInjector) -> None:
    injector.redis_command("CONFIG", "SET", "maxmemory", 1)
    injector.later(3.0, lambda: injector.redis_command("CONFIG", "SET", "maxmemory", 0))


def _redis_read_only(injector: FaultInjector) -> None:
    """What a failover leaves behind: a server that answers and takes no writes."""
    injector.redis_command("REPLICAOF", "127.0.0.1", 1)
    injector.later(3.0, lambda: injector.redis_command("REPLICAOF", "NO", "ONE"))


def _everything_killed(injector: FaultInjector) -> None:
    injector.own_stack.valkey.kill()
    for kind in ("web", "dispatcher", "worker"):
        injector.kill(kind)
    injector.own_stack.valkey.restart()


def _telegram_refuses(injector: FaultInjector) -> None:
    injector.customers.telegram.refuse_next(403, "Forbidden: bot was kicked from the supergroup chat", times=2)
    injector.later(6.0, injector.customers.telegram.clear_faults)


def _telegram_throttles(injector: FaultInjector) -> None:
    injector.customers.telegram.throttle_next(3, times=3)
    injector.later(6.0, injector.customers.telegram.clear_faults)


def _telegram_away(injector: FaultInjector) -> None:
    injector.customers.telegram.refuse_next(502, "Bad Gateway", times=4)
    injector.later(6.0, injector.customers.telegram.clear_faults)


def _telegram_loses_answers(injector: FaultInjector) -> None:
    injector.customers.telegram.lose_answer_next(times=2)
    injector.later(6.0, injector.customers.telegram.clear_faults)


def _end(injector: FaultInjector, alias: str, how: signal.Signals) -> None:
    if alias in injector.own_stack.running:
        injector.own_stack.kill(alias, how=how)


def _second_dispatcher(injector: FaultInjector) -> None:
    injector.start("dispatcher")


def _everything_slow(customers: Customers, person: Person) -> None:
    customers.model_plays(
        person,
        Answer(content=reply_with([line.marker for line in person.lines]), delay_seconds=3.0, pause_seconds=0.03),
    )
    customers.graph_meets(person, *[GraphFault("slow", seconds=4.0)] * 4, reads=[GraphFault("slow", seconds=2.0)] * 2)


SYSTEM_FAULTS = (
    Fault(
        "everything_slow",
        "graph",
        "model and Meta take seconds for everybody",
        prepare=_everything_slow,
        strike=_nothing,
    ),
    Fault("nothing_at_all", "customer", "no fault: two bursts of every customer", strike=_nothing, bursts=2),
    Fault("worker_killed", "process", "SIGKILL, another one starts", strike=lambda s: s.kill("worker"), bursts=2),
    Fault("worker_killed_twice", "process", "and again 4 s later", strike=_worker_killed_twice),
    Fault("worker_replaced", "process", "SIGKILL while another one lives", strike=_worker_replaced, bursts=2),
    Fault("worker_deployed", "process", "SIGTERM, the next one is up", strike=_worker_deployed, bursts=2),
    Fault("worker_frozen", "process", "stopped for longer than a lease, then goes on", strike=_worker_frozen),
    Fault(
        "dispatcher_killed", "process", "SIGKILL, another one starts", strike=lambda s: s.kill("dispatcher"), bursts=2
    ),
    Fault("dispatcher_frozen", "process", "stopped for 6 s", strike=lambda s: s.freeze("dispatcher", 6.0)),
    Fault("dispatcher_doubled", "process", "a second one beside it", strike=_second_dispatcher),
    Fault("receiver_killed", "process", "SIGKILL under load, Meta repeats", strike=lambda s: s.kill("web"), bursts=2),
    Fault(
        "everything_killed",
        "process",
        "all processes and Redis at once",
        strike=_everything_killed,
        bursts=2,
        lasts_seconds=4,
    ),
    Fault(
        "redis_killed",
        "store",
        "SIGKILL, back from its AOF",
        strike=lambda s: s.kill_redis(),
        bursts=2,
        lasts_seconds=1.5,
    ),
    Fault(
        "redis_killed_twice", "store", "and again 3 s later", strike=_redis_killed_twice, bursts=2, lasts_seconds=4.5
    ),
    Fault(
        "redis_gone",
        "store",
        "SIGKILL, away for 5 s",
        strike=lambda s: s.kill_redis(down_seconds=5.0),
        bursts=2,
        lasts_seconds=6,
    ),
    Fault(
        "redis_frozen", "store", "stopped for 4 s", strike=lambda s: s.freeze_redis(4.0), bursts=2, lasts_seconds=4.5
    ),
    Fault(
        "redis_connections_cut",
        "store",
        "every connection closed",
        strike=lambda s: s.redis_command("CLIENT", "KILL", "TYPE", "normal"),
        bursts=2,
    ),
    Fault("redis_full", "store", "no write is taken for 3 s", strike=_redis_full, bursts=2, lasts_seconds=3.5),
    Fault(
        "redis_read_only",
        "store",
        "a replica for 3 s, as in a failover",
        strike=_redis_read_only,
        bursts=2,
        lasts_seconds=3.5,
    ),
    Fault("broker_flushed", "store", "all of Celery's keys deleted, twice", strike=_broker_flushed, bursts=2),
    Fault(
        "telegram_refuses",
        "telegram",
        "the bot was thrown out of the chat, for a while",
        HANDED_OVER,
        _model_is_locked,
        strike=_telegram_refuses,
        lasts_seconds=6,
    ),
    Fault(
        "telegram_throttles",
        "telegram",
        "429, come back in 3 s",
        HANDED_OVER,
        _model_is_locked,
        strike=_telegram_throttles,
        lasts_seconds=6,
    ),
    Fault(
        "telegram_away",
        "telegram",
        "502 for a while",
        HANDED_OVER,
        _model_is_locked,
        strike=_telegram_away,
        lasts_seconds=6,
    ),
    Fault(
        "telegram_loses_answers",
        "telegram",
        "delivered, the connection is cut",
        HANDED_OVER,
        _model_is_locked,
        strike=_telegram_loses_answers,
        lasts_seconds=6,
    ),
)
