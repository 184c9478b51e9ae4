"""How a turn ends. `str` of each is the word that Celery and Flower show."""

from dataclasses import dataclass

from bot.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Ended:
    """The lease is given back for good. No `outcome`: there was nothing (more) to say, and nothing was closed."""

    outcome: Outcome | None = None
    why: str = ""

    def __str__(self) -> str:
        if self.outcome is None:
            return "nothing"
        return f"{self.outcome.value} ({self.why})" if self.why else self.outcome.value


@dataclass(frozen=True, slots=True)
class Waits:
    """The conversation is held, and due again by itself."""

    reason: str

    def __str__(self) -> str:
        return f"waits: {self.reason}"


@dataclass(frozen=True, slots=True)
class Lost:
    """Another turn, or a human, decides for the conversation now."""

    def __str__(self) -> str:
        return "lost"


@dataclass(frozen=True, slots=True)
class Failed:
    """In an exception of ours: its class, or "store" for a server that was away."""

    error: str

    def __str__(self) -> str:
        return f"failed: {self.error}"


TurnEnd = Ended | Waits | Lost | Failed
