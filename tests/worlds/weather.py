"""What may happen in a world, and how often: the same rules hold in all of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Weather:
    """`steps` are taken before it becomes calm. Each of the others is the chance of one thing at each chance it has."""

    name: str = "storm"
    steps: int = 220
    customers: int = 2
    messages: int = 5
    acts: float = 1.2  # how soon they follow each other: the weight of the next one
    other_acts: int = 3  # edits, deletions, words of a human, whatever else may happen beside messages
    workers: int = 2
    # A call to the store: it was done and the answer is lost, it was not done, or the process dies before or after it.
    store_lost: float = 0.01
    store_refused: float = 0.01
    kill: float = 0.012
    # A decision is done when its turn has long given up and the lease is another's; of `strays_of` every other one.
    stray: float = 0.01
    strays_of: tuple[str, ...] = ()
    stray_seconds: tuple[float, float] = (14, 24)
    strays_wait_for: str = ""  # the worst moment: another turn's "claim" or "send"
    kill_sending: float = 0.05  # between a send and its record
    # A call to Meta: it arrived and the answer is lost, it is lost itself, it is refused.
    meta_lost: float = 0.12
    meta_broken: float = 0.06
    meta_refused: float = 0.10
    refusals: tuple[str, ...] = (
        *("unavailable", "throttled", "token", "gone", "window", "content", "other_app", "doubt", "restricted"),
    )
    read_lag: float = 8.0  # seconds at most until a message can be read back
    read_fails: float = 0.1
    renew_fails: float = 0.0
    model_seconds: tuple[float, float] = (0, 0)
    model_fails: float = 0.12
    slow: float = 0.35  # weight of time that passes while calls are under way
    edits: float = 0.8
    deletions: float = 0.5
    humans: float = 0.5
    policy: float = 0.1
    jumps: float = 0.0
    lost_pokes: float = 0.1
    replicas: int = 0
    unconfirmed: float = 0.0
    account_missing: float = 0.0  # a worker starts without the second account
    look_back: bool = False
    failing: float = 0.0


STORM = Weather()
DOUBT = Weather(
    "doubt",
    *(160, 1, 3),
    kill_sending=0.3,
    meta_lost=0.3,
    meta_broken=0.2,
    humans=0.1,
    policy=0,
    stray=0.02,
    strays_of=("reread",),
)
STALE = Weather("stale", *(160, 1), messages=4, slow=1.0, stray=0.08, humans=0.2)
LATE = Weather("late", *(160, 1), messages=4, slow=1.0, renew_fails=0.7, model_seconds=(4, 11))
OVERDUE = Weather(
    "overdue",
    *(160, 1),
    messages=4,
    slow=1.0,
    stray=0.05,
    strays_of=("renew",),
    stray_seconds=(14, 17),
    strays_wait_for="claim",
    model_seconds=(0, 12),
)
JUMPS = Weather("jumps", jumps=0.25, read_lag=0.0, slow=0.2)
REPLICAS = Weather(
    "replicas",
    *(200, 1, 2),
    other_acts=1,
    replicas=1,
    unconfirmed=0.4,
    store_lost=0.005,
    store_refused=0.005,
    kill=0.005,
    kill_sending=0.02,
    stray=0.005,
    strays_of=("take_back_part",),
    stray_seconds=(22, 26),
    strays_wait_for="send",
    meta_lost=0.05,
    meta_broken=0.02,
    meta_refused=0.02,
    read_fails=0.02,
    model_fails=0.02,
    slow=0.2,
    lost_pokes=0.02,
)
MISSING = Weather(
    "missing", *(200, 1), messages=4, account_missing=0.6, kill=0.02, stray=0.03, strays_of=("hold_for_account",)
)
PEOPLE = Weather("people", other_acts=8, humans=2.5, edits=2.0, deletions=1.5, look_back=True)
FAILING = Weather("failing", *(160, 1), messages=4, failing=4.0, stray=0.03, strays_of=("abandon",))
ALL = (STORM, DOUBT, STALE, LATE, OVERDUE, JUMPS, REPLICAS, MISSING, PEOPLE, FAILING)
