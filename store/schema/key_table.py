"""Every key that Nightshift keeps in Redis: what it holds, who writes it, how long it lives, whose it is.

Erasing, exporting and retention go by this table, `docs/data-model.md` shows it, and a test compares it with the
sources and with a server that has been worked on: a key that is not here is refused. Words in braces stand for what
differs from key to key.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from store import keys


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

    `EXPIRES`: always. `AT_REST`: once nothing is open in its conversation (`RETENTION` of the scripts), never before.
    `STAYS`: never; then `bound` says what keeps it small, or what empties it.
    """

    EXPIRES = "expires"
    AT_REST = "at rest"
    STAYS = "stays"


class PersonalData(StrEnum):
    """How a customer's share is found.

    `CUSTOMER`: the key names the conversation and is that customer's alone. `SHARED`: members or lines name
    conversations (by hash) or hold what customers wrote, beside those of others. `NONE`: nothing of a customer.
    """

    CUSTOMER = "customer"
    SHARED = "shared"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """`key` is its name, `kind` is None where there are several; `writers` are scripts and modules, by name."""

    key: str
    kind: Kind | None
    lifetime: Lifetime
    personal_data: PersonalData
    holds: str
    writers: str
    bound: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches the whole of a key of this row."""
        return re.compile("".join(_matching(part) for part in re.split(r"(\{[^}]*\})", self.key)))

    @property
    def stem(self) -> str:
        """The key without what differs."""
        return re.sub(r"\{[^}]*\}", "", self.key)


_WITH_COLONS = ("{name}", "{alert}")  # as Celery and the alerts call them


def _matching(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    return ".+" if part in _WITH_COLONS else "[^:]+"


_HASH, _LIST, _SET, _ZSET = Kind.HASH, Kind.LIST, Kind.SET, Kind.SORTED_SET
_STRING, _STREAM = Kind.STRING, Kind.STREAM
_EXPIRES, _AT_REST, _STAYS = Lifetime.EXPIRES, Lifetime.AT_REST, Lifetime.STAYS
_CUSTOMER, _SHARED, _NONE = PersonalData.CUSTOMER, PersonalData.SHARED, PersonalData.NONE

_CONVERSATIONS = (
    Row(keys.CONVERSATION, _HASH, _AT_REST, _CUSTOMER,
        "whose it is (channel, account, scoped id), state, lease, times, stage, scratchpad, cost, limit",
        "receive, claim, plan, finish, hold, hold_for_account, record_part, renew, abandon, spend, settle_comment",
        "180 days"),
    Row(f"{keys.CONVERSATION}:inbox", _LIST, _STAYS, _CUSTOMER,
        "open messages with their words",
        "receive, claim, finish, abandon", "200 messages (flood); empty at rest"),
    Row(f"{keys.CONVERSATION}:plan", _HASH, _STAYS, _CUSTOMER,
        "the words to be sent, and what became of each part",
        "plan, begin_part, record_part, claim, take_back_part, receive, forget_plan", "one plan; gone at its end"),
    Row(f"{keys.CONVERSATION}:history", _LIST, _AT_REST, _CUSTOMER,
        "what was said, by whom",
        "finish, receive, settle_comment", "60 lines, 180 days"),
    Row(f"{keys.CONVERSATION}:seen", _ZSET, _AT_REST, _CUSTOMER,
        "keys of events that came, so that they count once",
        "receive", "72 hours and what is open, 20,000"),
    Row(f"{keys.CONVERSATION}:sent", _ZSET, _AT_REST, _CUSTOMER,
        "keys of messages that we have sent",
        "record_part, receive, settle_comment", "200, 7 days"),
    Row(f"{keys.CONVERSATION}:maybe", _ZSET, _AT_REST, _CUSTOMER,
        "hashes of words that may have arrived",
        "forget_plan, record_part, begin_comment", "50, a day"),
    Row(f"{keys.CONVERSATION}:turns", _LIST, _EXPIRES, _CUSTOMER,
        "times and a few hashed words of the turns that ended, for the customer's limits",
        "finish", "turns_per_customer_hour or 20, an hour"),
    Row(f"{keys.CONVERSATION}:edits", _HASH, _EXPIRES, _CUSTOMER,
        "edits that came before their messages",
        "receive", "50, 48 hours"),
    Row(f"{keys.CONVERSATION}:told", _LIST, _AT_REST, _CUSTOMER,
        "records of the telemetry that hold something of the words, with the messages they answered",
        "tell, receive", "200, 180 days"),
    Row(f"{keys.CONVERSATION}:thoughts:{{record}}", _STRING, _EXPIRES, _CUSTOMER,
        "a model's thoughts in a turn that failed",
        "tell", "7 days"),
    Row(f"{keys.CONVERSATION}:generations:{{record}}", _HASH, _EXPIRES, _CUSTOMER,
        "the provider's own record of a turn that failed",
        "attach_generation", "7 days"),
)  # fmt: skip

_SCHEDULE = (
    Row(keys.OPEN, _ZSET, _STAYS, _SHARED,
        "open messages: conversation and key, by when they came",
        "receive, close", "what is open"),
    Row(keys.DUE, _ZSET, _STAYS, _SHARED,
        "conversations by when they are looked at again",
        "schedule, pop_due, claim, renew", "what is open"),
    Row(keys.HANDED, _ZSET, _STAYS, _SHARED,
        "conversations handed out and not claimed",
        "pop_due, claim", "8 seconds"),
    Row(keys.SLEEP, _STRING, _STAYS, _NONE,
        "the deadline the dispatcher sleeps until",
        "pop_due, add_deadline", "one number"),
    Row(keys.WAKE, _LIST, _STAYS, _NONE,
        "a word that wakes the dispatcher",
        "add_deadline", "one word"),
    Row(keys.CELERY, None, _STAYS, _SHARED,
        "Celery's queues, bindings and what it has not acknowledged: conversation hashes, alert ids",
        "Celery", "quotas of the dispatcher"),
)  # fmt: skip

_BOOKS = (
    Row(keys.LEDGER, _STREAM, _STAYS, _SHARED,
        "every step of every message: hashes and reasons, no words",
        "note, beat", "200,000 steps, 180 days"),
    Row(keys.COUNT, _HASH, _STAYS, _NONE,
        "messages received and their outcomes",
        "count", "one number an outcome"),
    Row(keys.COUNT_OF_DAY, _HASH, _EXPIRES, _NONE,
        "the same by account, of one day",
        "count", "401 days"),
    Row(keys.EVENTS, _HASH, _STAYS, _NONE,
        "how often what happened",
        "receive, raise_alert, count_in", "one number a kind"),
    Row(keys.TELEMETRY, _STREAM, _STAYS, _SHARED,
        "one record a turn: figures, rules, stems of small talk",
        "tell, telemetry, beat", "KEPT_RECORDS, 180 days"),
    Row(keys.TELEMETRY_ERASED, _STRING, _STAYS, _NONE,
        "how many records were erased",
        "telemetry, receive", "one number"),
    Row(keys.MODEL_COUNTS_OF_DAY, _HASH, _EXPIRES, _NONE,
        "the day's counters of models and rules",
        "tell", "400 days"),
    Row(keys.MODEL_COUNTS, _HASH, _STAYS, _NONE,
        "attempts by verdict, rule and rung",
        "tell", "one number a kind"),
    Row(keys.GENERATIONS, _ZSET, _STAYS, _SHARED,
        "generations of failed turns to be asked for: conversation and record",
        "generations", "1,000; six minutes each"),
    Row(keys.SPENT_OF_DAY, _STRING, _EXPIRES, _NONE,
        "what models have cost on a day",
        "spend", "40 days"),
)  # fmt: skip

_OUTBOXES = (
    Row(keys.ALERTS, _HASH, _STAYS, _SHARED,
        "alerts that wait or linger: facts and hashes, no words",
        "raise_alert, settle_alert, close_alert", "2,000; a day of failures"),
    Row(keys.ALERTS_DUE, _ZSET, _STAYS, _SHARED,
        "alerts by when they are tried",
        "raise_alert, settle_alert, close_alert, pop_due", f"as {keys.ALERTS}"),
    Row(keys.ALERTS_ORDER, _ZSET, _STAYS, _SHARED,
        "alerts by which goes first where there is no room",
        "raise_alert, settle_alert, close_alert", f"as {keys.ALERTS}"),
    Row(keys.COMMENTS, _HASH, _EXPIRES, _SHARED,
        "comments to be answered: their words, authors",
        "comment, begin_comment, settle_comment", "10,000, 8 days"),
    Row(keys.COMMENTS_DUE, _ZSET, _EXPIRES, _SHARED,
        "comments by when they are tried",
        "comment, begin_comment, settle_comment", f"as {keys.COMMENTS}"),
    Row(keys.COMMENTS_SEEN, _ZSET, _EXPIRES, _NONE,
        "keys of comments that came",
        "comment", "50,000, 8 days"),
    Row(keys.UNREAD, _HASH, _STAYS, _SHARED,
        "messages to be read from Meta: account and mid",
        "receive, settle_unread", "1,000; 23 hours each"),
    Row(keys.UNREAD_DUE, _ZSET, _STAYS, _SHARED,
        "the same by when they are tried",
        "receive, take_unread, settle_unread", f"as {keys.UNREAD}"),
    Row(keys.EARLY, _LIST, _EXPIRES, _SHARED,
        "webhooks of accounts not known yet, words included",
        "keep_early, early_events", "500 of 64 KiB, a day"),
)  # fmt: skip

_ACCOUNTS = (
    Row(keys.ACCOUNT_IDS, _HASH, _STAYS, _NONE,
        "both ids of accounts with Instagram Login",
        "ids", "one line an account"),
    Row(keys.ACCOUNTS, _ZSET, _STAYS, _NONE,
        "accounts by when a process said last that it has them",
        "beat", "7 days"),
    Row(keys.FIRST_SEEN, _HASH, _STAYS, _NONE,
        "since when an account is served",
        "marks", "one number an account"),
    Row(keys.RECONCILED, _HASH, _STAYS, _NONE,
        "when an account was last looked through",
        "marks", "two numbers an account"),
    Row(keys.RECONCILING, _STRING, _EXPIRES, _NONE,
        "who looks through an account now",
        "marks", "minutes"),
    Row(keys.PARKED, _STRING, _EXPIRES, _NONE,
        "why an account rests, and marks of the tokens refused",
        "park, parking, receive", "an hour, or as long as Meta wishes"),
    Row(keys.PARKED_CONVERSATIONS, _SET, _EXPIRES, _SHARED,
        "conversations that wait until it may send again",
        "hold, wake_parked, receive", "a day"),
    Row(keys.PARKED_CONVERSATIONS_BEFORE_2, _SET, _EXPIRES, _SHARED,
        "the same, as it was called before schema 2",
        "older versions", "a minute; a day"),
    Row(keys.CALLS, _LIST, _EXPIRES, _NONE,
        "when an account's last calls were placed",
        "begin_part, pacing", "seconds"),
    Row(keys.STANDBY, _SET, _EXPIRES, _SHARED,
        "conversations heard on standby alone",
        "receive", "3, 3 days"),
)  # fmt: skip

_INSTALLATION = (
    Row(keys.SCHEMA, _STRING, _STAYS, _NONE,
        "the version of all that is kept here",
        "stamp", "one number"),
    Row(keys.ALIVE, _ZSET, _STAYS, _NONE,
        "processes by their last sign of life",
        "beat", "five minutes of silence"),
    Row(keys.INCIDENTS, _HASH, _STAYS, _NONE,
        "what is broken in the installation, since when",
        "system_incident", "one line a rule"),
    Row(keys.TELLING, _STRING, _EXPIRES, _NONE,
        "who tells an alert now",
        "system_incidents, store_watch, receive, clock_jumped", "a day"),
    Row(keys.TOLD, _ZSET, _STAYS, _NONE,
        "what is told once: hashes and account ids",
        "receive", "5,000"),
    Row(keys.CLOCK_AHEAD, _STRING, _STAYS, _NONE,
        "by how much the server's clock may be ahead, in milliseconds",
        "clock_jumped, trust_clock", "one number; goes with the doubt"),
    Row(keys.PROBE, _STRING, _EXPIRES, _NONE,
        "a write that shows whether writes are taken",
        "replicas, receive", "a minute"),
)  # fmt: skip

GROUPS = {
    "A conversation": _CONVERSATIONS,
    "What is open, and when": _SCHEDULE,
    "What is counted and noted": _BOOKS,
    "Outboxes": _OUTBOXES,
    "Accounts": _ACCOUNTS,
    "The installation": _INSTALLATION,
}
TABLE = tuple(row for rows in GROUPS.values() for row in rows)


def row_of(key: str) -> Row | None:
    """The row that a key belongs to, the most exact one where several fit; None for a key that is not ours."""
    fitting = [row for row in TABLE if row.pattern.fullmatch(key)]
    return max(fitting, key=lambda row: len(row.stem), default=None)
