"""One alert: what happened, since when, to which account or customer. Never a customer's words or phone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

_LATEST_MS = 10**14  # the year 5138; a later time is none


@dataclass(frozen=True, slots=True)
class Alert:
    """Times are Unix milliseconds, 0 where there is none. `rule` names what happened (`bot/alerts/rules.py`).

    The names of the fields are those of the JSON in the outbox, which processes of other versions read and write.
    """

    rule: str
    detail: str = ""  # a figure, an id, a name of ours: what stands for {detail} in the words
    channel: str = ""
    account: str = ""
    conversation: str = ""  # "" for what concerns an account or the whole house
    told: bool = False  # the customer has read that a human will answer
    waiting_since: int = 0
    last_message_at: int = 0
    acted_at: int = 0  # the customer's action whose messaging window this alert is about
    first_at: int = 0
    raised_at: int = 0
    recovered: bool = False
    over_at: int = 0
    count: int = 1  # how often it was raised; the outbox counts it up

    def body(self) -> dict[str, Any]:
        """As the outbox keeps it: what is blank is left out."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if value or name == "rule"}


def read_alert(body: Mapping[str, Any]) -> Alert:
    """The alert of a stored body, whichever version wrote it: what is missing or of another type is taken as blank."""
    return Alert(
        rule=text(body.get("rule")),
        detail=text(body.get("detail")),
        channel=text(body.get("channel")),
        account=text(body.get("account")),
        conversation=text(body.get("conversation")),
        told=body.get("told") is True,
        waiting_since=_moment(body.get("waiting_since")),
        last_message_at=_moment(body.get("last_message_at")),
        acted_at=_moment(body.get("acted_at")),
        first_at=_moment(body.get("first_at")),
        raised_at=_moment(body.get("raised_at")),
        recovered=body.get("recovered") is True,
        over_at=_moment(body.get("over_at")),
        count=max(whole(body.get("count")), 1),
    )


def whole(value: object) -> int:
    """A whole number, also one that Lua wrote with a fraction; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0
    return int(value)


def _moment(value: object) -> int:
    moment = whole(value)
    return moment if 0 < moment < _LATEST_MS else 0


def text(value: object) -> str:
    """A text, or a number as one; "" for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
