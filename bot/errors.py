"""The kinds of failure, sorted by who can act; each client's leaves are also of one of these kinds."""

from typing import ClassVar


class NightshiftError(Exception):
    """Base of all failures of our own. Messages hold codes, never payloads or tokens.

    `is_bug`: it was not foreseen, and is told like any bug. `is_waited_out`: the raiser has waited already.
    """

    is_bug: ClassVar = False
    is_waited_out: ClassVar = False


class Transient(NightshiftError):
    """It did not happen; trying later may work. `retry_after_seconds` is the other side's own wish, if it had one."""

    def __init__(self, message: str = "", retry_after_seconds: float | None = None) -> None:
        super().__init__(message, retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds

    def __str__(self) -> str:
        return str(self.args[0])


class OutcomeUnknown(NightshiftError):
    """It may have happened: a message is never sent again on this alone."""


class NeedsOperator(NightshiftError):
    """A token, a permission or a setting is wrong: only a person can mend it."""


class Refused(NightshiftError):
    """This request will never work."""
