"""The ways in which what a webhook says can end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answered:
    """Due for a turn; `words` is the model's prompt, "" where a fixed line answers instead."""

    words: str


@dataclass(frozen=True, slots=True)
class Silenced:
    reason: str


@dataclass(frozen=True, slots=True)
class HumanAtWork:
    """No message; whoever wrote or took the thread keeps the bot out. `words` enter the history."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Counted as `event`; no message, no conversation held."""

    event: str


@dataclass(frozen=True, slots=True)
class Told:
    """The managers hear of it."""

    alert: str


End = Answered | Silenced | HumanAtWork | Nothing | Told
