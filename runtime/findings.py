"""What a check of the installation found, in words that an operator can act on."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """`error`: the process must not serve like this. `warning`: it serves, and the operator should know."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a report. `check` names the check (`redis.version`), `what` says what is so, `fix` what to do.

    `what` and `fix` never hold a secret: they are printed, logged and sent.
    """

    check: str
    level: Level
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what
