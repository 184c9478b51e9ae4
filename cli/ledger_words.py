"""The ledger's events and reasons in plain words."""

from bot.alerts import rendering
from runtime.clock import local
from store.ledger import OpenMessage, Step

HOLDS = {
    "human": "a human has the conversation",
    "humans_first": "humans may answer first",
    "off_duty": "the bot is off duty",
    "backoff": "a try failed, the next one comes later",
    "settling": "it is being found out whether the reply arrived",
    "parked": "sending for this account is paused",
    "account_missing": "the worker that took it does not have its account, another one may",
    "released": "its worker stopped, another one takes it over",
}

_OUTCOMES = {
    "answered": "ANSWERED: the reply was delivered",
    "handed_over": "HANDED OVER: a human takes over, the alert is stored",
    "silenced": "SILENCED: no reply is due",
    "undeliverable": "UNDELIVERABLE: no words could be brought to the customer, the managers were told",
    "expired": "EXPIRED: the messaging window closed first",
}

_EVENTS = {
    "received": "the message was received and stored",
    "claimed": "a worker took the conversation",
    "vanished": "the worker that had the conversation is gone",
    "planned": "the reply was written down",
    "sending": "being sent to Meta",
    "sent": "Meta has it",
    "failed": "Meta did not take it",
    "unknown": "it is not known whether Meta took it",
    "human_wrote": "a human wrote to the customer",
    "empty_echo": "something without words or attachment was sent from our account",
    "automatic_reply": "Meta's own automatic reply went to the customer",
    "thread_taken": "another app took the conversation",
    "thread_returned": "the conversation was passed back to us",
    "reopened": "it came for us as well, so that it is answered after all",
    "edited": "the customer changed the message",
    "taken_back": "the customer took the message back",
    "dropped": "the reply was thrown away before anything of it was sent",
    "mended": "the message was damaged in the store",
    "alert": "an alert for the managers was stored",
    "alert_given_up": "the alert was given up: Telegram did not take it for a day",
    "alert_dropped": "the alert was given up: too many others waited",
}

_SILENCES = {
    "human_answered": "a human answered",
    "opted_out": "the customer wants no messages",
    "self": "we wrote to ourselves",
    "test_event": "a test from Meta's dashboard",
    "deleted": "the customer took it back",
    "standby": "another app has the conversation",
    "other_app": "another app has the conversation",
    "flood": "too much from one customer, or from a program: docs/limits.md",
}


_UNITS = {"seconds": "s", "minutes": "min", "hours": "h"}


def duration(seconds: float) -> str:
    return rendering.duration(seconds, _UNITS)


def why_open(message: OpenMessage, zone: str, *, when: bool = True) -> str:
    """State and reason; with `when`, also until what time."""
    at = ""
    if when and message.next_at_ms:
        at = f" until {local(message.next_at_ms, zone):%d.%m %H:%M:%S}"
    match message.state:
        case "held":
            return f"held: {HOLDS.get(message.hold_reason, message.hold_reason)}{at}"
        case "leased":
            return f"leased: a worker is at it{at and at.replace('until', 'lease until')}"
        case "gathering":
            return f"gathering: due for a turn{at.replace('until', 'at')}"
        case other:
            return f"{other or 'no conversation'}{at}"


def explain(step: Step) -> str:
    """What happened and, if the ledger says so, why."""
    if step.event == "held":
        return f"it waits: {HOLDS.get(step.why, step.why)}"
    text = _OUTCOMES.get(step.event) or _EVENTS.get(step.event) or step.event
    why = _SILENCES.get(step.why, step.why) if step.event == "silenced" else step.why
    return f"{text} ({why})" if why else text
