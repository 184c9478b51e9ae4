"""The five ways a customer's message may end, and the reasons of a deliberate silence."""

from enum import StrEnum


class Outcome(StrEnum):
    ANSWERED = "answered"
    HANDED_OVER = "handed_over"
    SILENCED = "silenced"
    UNDELIVERABLE = "undeliverable"
    EXPIRED = "expired"


TELLS_CUSTOMER = frozenset({Outcome.ANSWERED, Outcome.HANDED_OVER})
"""Outcomes that are booked only when the customer has been told something."""


class SilenceReason(StrEnum):
    HUMAN_ANSWERED = "human_answered"
    OPTED_OUT = "opted_out"
    SELF = "self"
    TEST_EVENT = "test_event"
    DELETED = "deleted"
    STANDBY = "standby"
    OTHER_APP = "other_app"
    FLOOD = "flood"


class Deferral(StrEnum):
    """Why an open message waits on purpose; a deferral is not an outcome."""

    HUMAN = "human"
    HUMANS_FIRST = "humans_first"
    OFF_DUTY = "off_duty"
    BACKOFF = "backoff"
    SETTLING = "settling"


FOR_PEOPLE = frozenset({Deferral.HUMAN, Deferral.HUMANS_FIRST, Deferral.OFF_DUTY})
"""Waiting for people is no fault of the bot's: what waits so is not overdue."""
