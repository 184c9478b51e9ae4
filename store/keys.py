"""The name of every key that Nightshift keeps in Redis: the one Python module that spells them.

What each key holds, who writes it, how long it lives and whose it is: `store/schema/key_table.py`. Words in braces
stand for what differs from key to key; where Python makes such a name, there is a function for it here. The scripts
spell the names for themselves.
"""

from typing import Final

from runtime.key_prefix import CELERY_PREFIX
from runtime.settings import Account

SCHEMA: Final = "ns:schema"

# Of one conversation.
CONVERSATION: Final = "ns:c:{conversation}"
ALL_CONVERSATIONS: Final = "ns:c:*"
ALL_INBOXES: Final = "ns:c:*:inbox"

# What is open, and when.
OPEN: Final = "ns:open"
DUE: Final = "ns:due"
HANDED: Final = "ns:handed"
SLEEP: Final = "ns:sleep"
WAKE: Final = "ns:wake"
CELERY: Final = f"{CELERY_PREFIX}{{name}}"

# What is counted and noted.
LEDGER: Final = "ns:ledger"
COUNT: Final = "ns:count"
COUNT_OF_DAY: Final = "ns:count:{day}"
EVENTS: Final = "ns:events"
TELEMETRY: Final = "ns:telemetry"
TELEMETRY_ERASED: Final = "ns:telemetry:erased"
MODEL_COUNTS: Final = "ns:tel:all"
MODEL_COUNTS_OF_DAY: Final = "ns:tel:{day}"
GENERATIONS: Final = "ns:generations"
SPENT_OF_DAY: Final = "ns:spent:{day}"

# Outboxes.
ALERTS: Final = "ns:alerts"
ALERTS_DUE: Final = "ns:alerts:due"
ALERTS_ORDER: Final = "ns:alerts:order"
COMMENTS: Final = "ns:comments"
COMMENTS_DUE: Final = "ns:comments:due"
COMMENTS_SEEN: Final = "ns:comments:seen"
UNREAD: Final = "ns:unread"
UNREAD_DUE: Final = "ns:unread:due"
EARLY: Final = "ns:early"

# Of accounts.
ACCOUNT_IDS: Final = "ns:account_ids"
ACCOUNTS: Final = "ns:accounts"
FIRST_SEEN: Final = "ns:first_seen"
RECONCILED: Final = "ns:reconciled"
RECONCILING: Final = "ns:reconciling:{channel}:{account}"
PARKED: Final = "ns:parked:{channel}:{account}"
ALL_PARKED: Final = "ns:parked:*"
PARKED_CONVERSATIONS: Final = "ns:parked_conversations:{channel} {account}"
PARKED_CONVERSATIONS_BEFORE_2: Final = "ns:waiting:{channel} {account}"
CALLS: Final = "ns:line:{channel}:{account}:{line}"
STANDBY: Final = "ns:standby:{channel} {account}"

# Of the installation itself.
ALIVE: Final = "ns:alive"
INCIDENTS: Final = "ns:incidents"
TELLING: Final = "ns:telling:{alert}"
TOLD: Final = "ns:told"
CLOCK_AHEAD: Final = "ns:clock:ahead"
PROBE: Final = "ns:probe"


def conversation_key(conversation_id: str, part: str = "") -> str:
    """Its fields, or with a `part` ("inbox", "plan", "history" ...) what is kept of it beside them."""
    return f"ns:c:{conversation_id}:{part}" if part else f"ns:c:{conversation_id}"


def conversation_of(inbox_key: str) -> str:
    """Whose inbox that is."""
    return inbox_key.removeprefix("ns:c:").removesuffix(":inbox")


def thoughts_key(conversation_id: str, record_id: str) -> str:
    return conversation_key(conversation_id, f"thoughts:{record_id}")


def generations_key(conversation_id: str, record_id: str) -> str:
    return conversation_key(conversation_id, f"generations:{record_id}")


def celery_key(name: str) -> str:
    """Of a queue, by its name."""
    return f"{CELERY_PREFIX}{name}"


def spent_key(day: str) -> str:
    """`day` is a UTC day as `runtime.clock.utc_day` writes it."""
    return f"ns:spent:{day}"


def parking_key(account: Account) -> str:
    return f"ns:parked:{account.channel}:{account.id}"


def parked_conversations_key(account: str) -> str:
    """`account` is "channel id"."""
    return f"ns:parked_conversations:{account}"


def parked_conversations_key_before_2(account: str) -> str:
    """As processes of before schema 2 call it."""
    return f"ns:waiting:{account}"


def marks_lock_key(account: Account) -> str:
    """Held by who looks through the account's conversations."""
    return f"ns:reconciling:{account.channel}:{account.id}"


def calls_key(account: Account, line: str) -> str:
    return f"ns:line:{account.channel}:{account.id}:{line}"


def telling_key(alert_id: str) -> str:
    return f"ns:telling:{alert_id}"
