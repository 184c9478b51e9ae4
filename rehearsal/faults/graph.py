"""Meta refuses, loses its answer, or says nothing: each class of failure has its own end."""

from collections.abc import Callable, Sequence

from bot.outcome import Outcome
from rehearsal.customers import Customers
from rehearsal.faults.fault import ANSWERED, HANDED_OVER, Fault
from rehearsal.workload import Person
from sandbox.meta.faults import Fault as GraphFault
from sandbox.model.answers import Answer
from sandbox.model.faults import TAGS

# Final refusals are repeated: a worker that is killed meanwhile asks again and must hear the same.
_FINAL = 8
_GONE = frozenset({Outcome.UNDELIVERABLE})
_EXPIRED = frozenset({Outcome.EXPIRED})
_SILENCED = frozenset({Outcome.SILENCED})

_TRANSIENT = GraphFault("refuse", code=2, subcode=1545133, status=500)
_LOST_ANSWER = GraphFault("cut", delivered=True)
_NEVER_ARRIVED = GraphFault("cut")

Prepare = Callable[[Customers, Person], None]


def _meets(*faults: GraphFault, reads: Sequence[GraphFault] = ()) -> Prepare:
    return lambda customers, person: customers.graph_meets(person, *faults, reads=reads)


def _without_echo(*faults: GraphFault) -> Prepare:
    def prepare(customers: Customers, person: Person) -> None:
        customers.meta.no_echo_to.add(person.customer_id)
        customers.graph_meets(person, *faults)

    return prepare


def _first_one_meets(*faults: GraphFault) -> Prepare:
    """The account is parked by one refusal; the others find it parked."""

    def prepare(customers: Customers, person: Person) -> None:
        if person.place == 0:
            customers.graph_meets(person, *faults)

    return prepare


def _long_reply(customers: Customers, person: Person) -> None:
    """Three parts, each of which arrives while its answer is lost."""
    marker = person.lines[0].marker
    text = f"Про «{marker}» расскажу подробно. " + " ".join(
        f"Вот ещё подробность ({word}) о том, как проходит занятие и что взять с собой." for word in _WORDS
    )
    customers.model_plays(person, Answer(content=f"{text}\n{TAGS}"))
    customers.graph_meets(person, *[_LOST_ANSWER] * 4)


_WORDS = ("глина", "круг", "глазурь", "обжиг", "фартук", "кисти", "печь", "эскиз", "форма", "ручка", "донце", "роспись")


GRAPH_FAULTS = (
    Fault("graph_transient", "graph", "unavailable three times", ANSWERED, _meets(*[_TRANSIENT] * 3)),
    Fault(
        "graph_recipient_gone",
        "graph",
        "the customer has blocked us",
        _GONE,
        _meets(*[GraphFault("refuse", code=551, subcode=1545041, status=400)] * _FINAL),
    ),
    Fault(
        "graph_window_closed",
        "graph",
        "the messaging window is closed",
        _EXPIRED,
        _meets(*[GraphFault("refuse", code=10, subcode=2534022, status=403)] * _FINAL),
    ),
    Fault(
        "graph_thread_owner",
        "graph",
        "another app owns the thread",
        _SILENCED,
        _meets(*[GraphFault("refuse", code=100, subcode=2534037, status=400)] * _FINAL),
    ),
    Fault(
        "graph_bad_content",
        "graph",
        "these words are refused, others would be taken",
        HANDED_OVER | ANSWERED,
        _meets(GraphFault("refuse", code=100, subcode=2534015, status=400)),
        own_words=False,
    ),
    Fault(
        "graph_unknown_code",
        "graph",
        "an unknown code, nothing delivered",
        ANSWERED,
        _meets(GraphFault("refuse", code=77777, status=500)),
    ),
    Fault(
        "graph_error_but_delivered",
        "graph",
        "error 1/1357046, and the words arrive all the same",
        ANSWERED,
        _meets(GraphFault("refuse", delivered=True, code=1, subcode=1357046, status=500)),
    ),
    Fault("graph_lost_answer", "graph", "delivered, the connection is cut", ANSWERED, _meets(_LOST_ANSWER)),
    Fault(
        "graph_lost_answer_no_echo",
        "graph",
        "delivered, the connection is cut, and no echo ever comes",
        ANSWERED,
        _without_echo(_LOST_ANSWER),
    ),
    Fault("graph_never_arrived", "graph", "the connection is cut, nothing arrives", ANSWERED, _meets(_NEVER_ARRIVED)),
    Fault(
        "graph_lost_every_part",
        "graph",
        "each part of a long reply arrives unanswered",
        ANSWERED,
        _long_reply,
        lines=1,
        parts=True,
    ),
    Fault(
        "graph_garbage_delivered",
        "graph",
        "a 200 that is HTML, delivered",
        ANSWERED,
        _meets(GraphFault("garbage", delivered=True)),
    ),
    Fault(
        "graph_garbage_lost", "graph", "a 200 that is HTML, nothing arrives", ANSWERED, _meets(GraphFault("garbage"))
    ),
    Fault(
        "graph_hang_delivered",
        "graph",
        "no answer to the send, delivered",
        ANSWERED,
        _meets(GraphFault("hang", delivered=True, seconds=60)),
    ),
    Fault(
        "graph_hang_lost",
        "graph",
        "no answer to the send, nothing arrives",
        ANSWERED,
        _meets(GraphFault("hang", seconds=60)),
    ),
    Fault(
        "graph_slow", "graph", "each send takes three seconds", ANSWERED, _meets(*[GraphFault("slow", seconds=3)] * 4)
    ),
    Fault(
        "graph_settling_blind",
        "graph",
        "nothing arrives, and the conversation cannot be read for a while",
        ANSWERED | HANDED_OVER,
        _meets(_NEVER_ARRIVED, reads=[_TRANSIENT] * 4),
        own_words=False,
    ),
    Fault(
        "graph_throttled",
        "graph",
        "613: the account must rest a minute",
        ANSWERED,
        _first_one_meets(GraphFault("refuse", code=613, minutes=1)),
        tells_account=True,
    ),
    Fault(
        "graph_token",
        "graph",
        "190/463: the token has expired, until an operator mends it",
        ANSWERED,
        _first_one_meets(GraphFault("refuse", code=190, subcode=463, status=400)),
        tells_account=True,
    ),
    Fault(
        "graph_permission",
        "graph",
        "200: a permission is missing, until an operator mends it",
        ANSWERED,
        _first_one_meets(GraphFault("refuse", code=200, status=403)),
        tells_account=True,
    ),
    Fault(
        "graph_restricted",
        "graph",
        "368: the account is blocked for policy, until it is not",
        ANSWERED,
        _first_one_meets(GraphFault("refuse", code=368, status=400)),
        tells_account=True,
    ),
)
