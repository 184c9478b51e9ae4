"""Every key that Nightshift keeps in Redis: what it holds, who writes it, how long it lives, whose it is.

Erasing, exporting and retention go by this table, and a test compares it with the sources and with a server that has
been worked on: a key that is not here is refused. Words in braces stand for what differs from key to key.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Redis's own word for the type."""

    STRING = "string"
    HASH = "hash"
    LIST = "list"
    SET = "set"
    SORTED_SET = "zset"
    STREAM = "stream"


class Lifetime(StrEnum):
    """Whether the key has a time to live of its own.

    `EXPIRES`: always. `AT_REST`: once nothing is open in its conversation (`RETENTION` in retention.lua), never before.
    `STAYS`: never; then `bound` says what keeps it small, or what empties it.
    """

    EXPIRES = "expires"
    AT_REST = "at rest"
    STAYS = "stays"


class Whose(StrEnum):
    """How a customer's share is found.

    `CUSTOMER`: the key names the conversation and is that customer's alone. `SHARED`: members or lines name
    conversations (by hash) or hold what customers wrote, beside those of others. `NOBODY`: nothing of a customer.
    """

    CUSTOMER = "customer"
    SHARED = "shared"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Store:
    """`kind` is None where there are several; `writers` are scripts and modules."""

    key: str
    kind: Kind | None
    lifetime: Lifetime
    whose: Whose
    holds: str
    writers: str
    bound: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches the whole of a key of this store; what ends in dots in the braces may hold colons."""
        return re.compile("".join(_matching(part) for part in re.split(r"(\{[^}]*\})", self.key)))

    @property
    def stem(self) -> str:
        """The key without what differs."""
        return re.sub(r"\{[^}]*\}", "", self.key)


def _matching(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    return ".+" if part.endswith("...}") else "[^:]+"


_C = "ns:c:{conversation}"
_HASH, _LIST, _SET, _ZSET = Kind.HASH, Kind.LIST, Kind.SET, Kind.SORTED_SET
_STRING, _STREAM = Kind.STRING, Kind.STREAM
_EXPIRES, _AT_REST, _STAYS = Lifetime.EXPIRES, Lifetime.AT_REST, Lifetime.STAYS
_CUSTOMER, _SHARED, _NOBODY = Whose.CUSTOMER, Whose.SHARED, Whose.NOBODY

_CONVERSATIONS = (
    Store(_C, _HASH, _AT_REST, _CUSTOMER,
          "whose it is (channel, account, scoped id), state, lease, times, stage, notebook, cost, limit",
          "receive, turns, spend", "180 days"),
    Store(f"{_C}:inbox", _LIST, _STAYS, _CUSTOMER,
          "open messages with their words",
          "receive", "200 messages (flood); empty at rest"),
    Store(f"{_C}:plan", _HASH, _STAYS, _CUSTOMER,
          "the words to be sent, and what became of each part",
          "plan, record_part", "one plan; gone at its end"),
    Store(f"{_C}:history", _LIST, _AT_REST, _CUSTOMER,
          "what was said, by whom",
          "finish, receive, settle_comment", "60 lines, 180 days"),
    Store(f"{_C}:seen", _ZSET, _AT_REST, _CUSTOMER,
          "keys of events that came, so that they count once",
          "receive", "72 hours and what is open, 20,000"),
    Store(f"{_C}:sent", _ZSET, _AT_REST, _CUSTOMER,
          "keys of messages that we have sent",
          "record_part, receive, settle_comment", "200, 7 days"),
    Store(f"{_C}:maybe", _ZSET, _AT_REST, _CUSTOMER,
          "hashes of words that may have arrived",
          "forget_plan, record_part, begin_comment", "50, a day"),
    Store(f"{_C}:turns", _LIST, _EXPIRES, _CUSTOMER,
          "times and a few hashed words of the turns that ended, for the customer's limits",
          "finish", "turns_per_customer_hour or 20, an hour"),
    Store(f"{_C}:edits", _HASH, _EXPIRES, _CUSTOMER,
          "edits that came before their messages",
          "receive", "50, 72 hours"),
    Store(f"{_C}:told", _LIST, _AT_REST, _CUSTOMER,
          "records of the telemetry that hold something of the words, with the messages they answered",
          "tell, receive", "200, 180 days"),
    Store(f"{_C}:thoughts:{{record}}", _STRING, _EXPIRES, _CUSTOMER,
          "a model's thoughts in a turn that failed",
          "tell", "7 days"),
    Store(f"{_C}:generations:{{record}}", _HASH, _EXPIRES, _CUSTOMER,
          "the provider's own record of a turn that failed",
          "attach_generation", "7 days"),
)  # fmt: skip

_SCHEDULE = (
    Store("ns:open", _ZSET, _STAYS, _SHARED,
          "open messages: conversation and key, by when they came",
          "receive, close", "what is open"),
    Store("ns:due", _ZSET, _STAYS, _SHARED,
          "conversations by when they are looked at again",
          "schedule, pop_due, claim, renew", "what is open"),
    Store("ns:handed", _ZSET, _STAYS, _SHARED,
          "conversations handed out and not claimed",
          "pop_due, claim", "8 seconds"),
    Store("ns:sleep", _STRING, _STAYS, _NOBODY,
          "the deadline the dispatcher sleeps until",
          "pop_due, add_deadline", "one number"),
    Store("ns:wake", _LIST, _STAYS, _NOBODY,
          "a word that wakes the dispatcher",
          "add_deadline", "one word"),
    Store("ns:celery:{name...}", None, _STAYS, _SHARED,
          "Celery's queues, bindings and what it has not acknowledged: conversation hashes, alert ids",
          "Celery", "quotas of the dispatcher"),
)  # fmt: skip

_BOOKS = (
    Store("ns:ledger", _STREAM, _STAYS, _SHARED,
          "every step of every message: hashes and reasons, no words",
          "note", "200,000 steps, 180 days"),
    Store("ns:count", _HASH, _STAYS, _NOBODY,
          "messages received and their outcomes",
          "count", "one number an outcome"),
    Store("ns:count:{day}", _HASH, _EXPIRES, _NOBODY,
          "the same by account, of one day",
          "count", "401 days"),
    Store("ns:events", _HASH, _STAYS, _NOBODY,
          "how often what happened",
          "receive, raise_alert, background jobs", "one number a kind"),
    Store("ns:telemetry", _STREAM, _STAYS, _SHARED,
          "one record a turn: figures, rules, stems of small talk",
          "tell, telemetry", "KEPT_RECORDS, 180 days"),
    Store("ns:telemetry:erased", _STRING, _STAYS, _NOBODY,
          "how many records were erased",
          "telemetry", "one number"),
    Store("ns:tel:{day}", _HASH, _EXPIRES, _NOBODY,
          "the day's counters of models and rules",
          "tell", "400 days"),
    Store("ns:tel:all", _HASH, _STAYS, _NOBODY,
          "attempts by verdict, rule and rung",
          "tell", "one number a kind"),
    Store("ns:generations", _ZSET, _STAYS, _SHARED,
          "generations of failed turns to be asked for: conversation and record",
          "generations", "1,000; six minutes each"),
    Store("ns:spent:{day}", _STRING, _EXPIRES, _NOBODY,
          "what models have cost on a day",
          "spend", "40 days"),
)  # fmt: skip

_OUTBOXES = (
    Store("ns:alerts", _HASH, _STAYS, _SHARED,
          "alerts that wait or linger: facts and hashes, no words",
          "raise_alert, settle_alert", "2,000; a day of failures"),
    Store("ns:alerts:due", _ZSET, _STAYS, _SHARED,
          "alerts by when they are tried",
          "raise_alert, settle_alert, pop_due", "as ns:alerts"),
    Store("ns:alerts:order", _ZSET, _STAYS, _SHARED,
          "alerts by which goes first where there is no room",
          "raise_alert, settle_alert", "as ns:alerts"),
    Store("ns:comments", _HASH, _EXPIRES, _SHARED,
          "comments to be answered: their words, authors",
          "comment, settle_comment", "10,000, 8 days"),
    Store("ns:comments:due", _ZSET, _EXPIRES, _SHARED,
          "comments by when they are tried",
          "comment, begin_comment", "as ns:comments"),
    Store("ns:comments:seen", _ZSET, _EXPIRES, _NOBODY,
          "keys of comments that came",
          "comment", "50,000, 8 days"),
    Store("ns:unread", _HASH, _STAYS, _SHARED,
          "messages to be read from Meta: account and mid",
          "receive, settle_unread", "1,000; 23 hours each"),
    Store("ns:unread:due", _ZSET, _STAYS, _SHARED,
          "the same by when they are tried",
          "receive, take_unread", "as ns:unread"),
    Store("ns:early", _LIST, _EXPIRES, _SHARED,
          "webhooks of accounts not known yet, words included",
          "keep_early", "500 of 64 KiB, a day"),
)  # fmt: skip

_ACCOUNTS = (
    Store("ns:account_ids", _HASH, _STAYS, _NOBODY,
          "both ids of accounts with Instagram Login",
          "account_ids", "one line an account"),
    Store("ns:accounts", _ZSET, _STAYS, _NOBODY,
          "accounts by when a process said last that it has them",
          "beat", "7 days"),
    Store("ns:first_seen", _HASH, _STAYS, _NOBODY,
          "since when an account is served",
          "looks", "one number an account"),
    Store("ns:reconciled", _HASH, _STAYS, _NOBODY,
          "when an account was last looked through",
          "looks", "two numbers an account"),
    Store("ns:reconciling:{channel}:{account}", _STRING, _EXPIRES, _NOBODY,
          "who looks through an account now",
          "looks", "minutes"),
    Store("ns:parked:{channel}:{account}", _STRING, _EXPIRES, _NOBODY,
          "why an account rests, and marks of the tokens refused",
          "park, receive", "an hour, or as long as Meta wishes"),
    Store("ns:parked_conversations:{channel} {account}", _SET, _EXPIRES, _SHARED,
          "conversations that wait for that",
          "hold", "a day"),
    Store("ns:line:{channel}:{account}:{line}", _LIST, _EXPIRES, _NOBODY,
          "when an account's last calls were placed",
          "take_place", "seconds"),
    Store("ns:standby:{channel} {account}", _SET, _EXPIRES, _SHARED,
          "conversations heard on standby alone",
          "receive", "3, 3 days"),
)  # fmt: skip

_HOUSE = (
    Store("ns:alive", _ZSET, _STAYS, _NOBODY,
          "processes by their last sign of life",
          "beat", "five minutes of silence"),
    Store("ns:incidents", _HASH, _STAYS, _NOBODY,
          "what is broken in the house, since when",
          "system_incident", "one line a rule"),
    Store("ns:telling:{alert...}", _STRING, _EXPIRES, _NOBODY,
          "who tells an alert now",
          "system_incidents, store_watch, receive", "a day"),
    Store("ns:told", _ZSET, _STAYS, _NOBODY,
          "what is told once: hashes and account ids",
          "receive", "5,000"),
    Store("ns:clock:ahead", _STRING, _STAYS, _NOBODY,
          "by how much the server's clock may be ahead, in milliseconds",
          "clock_jumped, trust_clock", "one number; goes with the doubt"),
    Store("ns:probe", _STRING, _EXPIRES, _NOBODY,
          "a write that shows whether writes are taken",
          "health", "a minute"),
)  # fmt: skip

STORES = (*_CONVERSATIONS, *_SCHEDULE, *_BOOKS, *_OUTBOXES, *_ACCOUNTS, *_HOUSE)


def store_of(key: str) -> Store | None:
    """The store that a key belongs to, the most exact one where several fit; None for a key that is not ours."""
    fitting = [store for store in STORES if store.pattern.fullmatch(key)]
    return max(fitting, key=lambda store: len(store.stem), default=None)
