"""What can go wrong in a rehearsal: a name, what happens, and how the conversations that meet it may end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bot.outcome import Outcome

if TYPE_CHECKING:
    from rehearsal.customers import Customers
    from rehearsal.fault_injector import FaultInjector
    from rehearsal.workload import Person

Kind = Literal["model", "graph", "customer", "telegram", "process", "store"]
ANSWERED = frozenset({Outcome.ANSWERED})
HANDED_OVER = frozenset({Outcome.HANDED_OVER})


@dataclass(frozen=True, slots=True)
class Fault:
    """`ends` are the only outcomes its messages may have.

    `prepare` arranges the other side for one customer before they write; `write` replaces the way they write;
    `strike` happens once to the whole system. `own_words` is False where the model's reply is not the rehearsal's, so
    that it holds no marker; `parts` allows one message to be answered in several; `tells_account` demands an alert
    about the account. `lasts_seconds` is how long the next injected fault waits for the end of this one.
    """

    name: str
    kind: Kind
    says: str
    ends: frozenset[Outcome] = ANSWERED
    prepare: "Callable[[Customers, Person], None] | None" = None
    write: "Callable[[Customers, Person], Awaitable[None]] | None" = None
    strike: "Callable[[FaultInjector], None] | None" = None
    bursts: int = 1
    lines: int = 0
    own_words: bool = True
    parts: bool = False
    tells_account: bool = False
    lasts_seconds: float = 0.0

    @property
    def injected(self) -> bool:
        """It happens to everybody at once, so it has its own place in the play."""
        return self.strike is not None or self.tells_account

    @property
    def needs_own_stack(self) -> bool:
        """Only possible where the rehearsal has started the processes itself."""
        return self.kind in ("process", "store")
