"""How often one account may call Meta, and what Meta answers to the call that is one too many."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.responses import Response

from bot.incoming.events import Channel
from runtime.settings import Account
from sandbox.meta.errors import refusal, throttling_headers

Line = Literal["sends", "reads"]

SENDS_PER_SECOND = {Channel.INSTAGRAM: 100.0, Channel.MESSENGER: 300.0}
READS_PER_SECOND = 2.0  # of conversations and their messages
_REFUSED_AS: dict[tuple[Line, Channel], tuple[int, int | None]] = {
    ("reads", Channel.INSTAGRAM): (4, None),
    ("reads", Channel.MESSENGER): (80006, None),
    ("sends", Channel.INSTAGRAM): (613, 2534040),
    ("sends", Channel.MESSENGER): (613, None),
}


@dataclass
class _Bucket:
    """Holds a second's worth of calls, and fills as fast."""

    tokens: float
    at: float


class Limits:
    """Each account has its own lines; a call that is refused is listed in `throttled`. None: no limit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.throttled: list[dict[str, Any]] = []
        self.served = {"sends": 0, "reads": 0}
        self._limit_clock = clock
        self._limits_lock = threading.Lock()
        self._rates: dict[tuple[Line, Channel], float | None] = {}
        self._buckets: dict[tuple[Line, Channel, str], _Bucket] = {}
        self.reset_limits()

    def set_limits(self, *, sends: float | None = None, reads: float | None = None) -> None:
        """Calls a second of every account from now on."""
        with self._limits_lock:
            for channel in Channel:
                self._rates |= {("sends", channel): sends, ("reads", channel): reads}
            self._buckets.clear()

    def reset_limits(self) -> None:
        with self._limits_lock:
            self._rates = {("sends", channel): rate for channel, rate in SENDS_PER_SECOND.items()}
            self._rates |= {("reads", channel): READS_PER_SECOND for channel in Channel}
            self._buckets.clear()
            self.throttled.clear()
            self.served = {"sends": 0, "reads": 0}

    def one_too_many(self, account: Account, line: Line) -> Response | None:
        """The refusal, when the account's line is used up; else the call is counted."""
        with self._limits_lock:
            rate, now = self._rates[line, account.channel], self._limit_clock()
            if rate is not None:
                bucket = self._buckets.setdefault((line, account.channel, account.id), _Bucket(rate, now))
                bucket.tokens = min(bucket.tokens + (now - bucket.at) * rate, rate)
                bucket.at = now
                if bucket.tokens < 1:
                    self.throttled.append({"line": line, "account": account.id, "channel": account.channel.value})
                    code, subcode = _REFUSED_AS[line, account.channel]
                    return refusal(code, subcode, headers=throttling_headers(account, percent=100, minutes=1))
                bucket.tokens -= 1
            self.served[line] += 1
        return None
