"""A worker dies with a picture on its way: the reply stands, the picture is never doubled, nobody is alarmed."""

import signal
from collections.abc import Iterator

import pytest
import redis

from bot.incoming.events import conversation_id
from sandbox.meta.faults import Fault
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, begin_anew, since
from tests.end_to_end.rich_content.structured import PAGE, PHOTO, WORDS, knows, reply


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("enclosed"), quiet=0.3, max_wait=1, budget=12, takeover=0.02) as stack:
        yield stack


@pytest.fixture
def stack(running: Stack) -> Stack:
    begin_anew(running)
    running.meta.echo = "none"
    return running


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return Customer(stack, new_customer())


@pytest.mark.parametrize("delivered", [True, False])
def test_a_worker_killed_while_a_picture_is_on_its_way_neither_doubles_nor_loses(
    stack: Stack, customer: Customer, delivered: bool
) -> None:
    knows(stack, customer, PHOTO)
    before = stack.ledger()
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO}]", "[REACT: ❤]"))
    stack.meta.fault_for(customer.id, Fault("slow", seconds=0), Fault("hang", delivered, seconds=5))
    customer.writes("Покажите кружку")
    stack.wait_for(lambda: not stack.meta.faults_left(), "the picture to be on its way")

    stack.kill("worker", how=signal.SIGKILL)
    stack.spawn("worker")

    assert since(stack, before, 60) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS, *([""] if delivered else [])]
    assert len(stack.model.requests) == 1
    assert stack.telegram.messages == []


def test_words_in_doubt_are_settled_before_the_picture_goes(stack: Stack, customer: Customer) -> None:
    knows(stack, customer, PHOTO, PAGE)
    before = stack.ledger()
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO}]", f"[LINK: Посмотреть | {PAGE}]"))
    stack.meta.fault_for(customer.id, Fault("cut", delivered=True))

    customer.writes("Покажите кружку")

    assert since(stack, before, 60) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS, ""]


@pytest.mark.parametrize(
    ("left", "seen"),
    [
        ({"state": "planned"}, [PHOTO]),  # killed after the words, before the picture was begun
        ({"state": "sending"}, []),  # before the call, in it, or before its answer was written down
        ({"state": "unknown"}, []),
        ({"state": "failed", "plain": "1", "code": "plain"}, ["text"]),  # refused, and the text not begun
        ({"state": "sending", "plain": "1", "code": "plain"}, []),
        ({"state": "sent"}, []),  # before the turn was finished
        ({"state": "dropped"}, []),
    ],
)
def test_wherever_a_worker_dies_the_next_one_finishes(
    stack: Stack, customer: Customer, left: dict[str, str], seen: list[str]
) -> None:
    before = stack.ledger()

    dies_with_a_picture_on_its_way(stack, customer, part=left)

    assert since(stack, before, 60) == {"received": 1, "answered": 1}
    later = [message for message in stack.meta.sent if message["to"] == customer.id][1:]
    assert [message.get("image") or "text" for message in later] == seen
    assert all(message["text"] in ("", PHOTO) for message in later)
    assert len(stack.model.requests) == 1
    assert stack.telegram.messages == []


def test_turns_that_fail_over_a_picture_end_as_answered_and_alarm_nobody(stack: Stack, customer: Customer) -> None:
    before = stack.ledger()

    dies_with_a_picture_on_its_way(stack, customer, part={"state": "planned"}, conversation={"failures": "3"})

    assert since(stack, before, 60) == {"received": 1, "answered": 1}
    assert customer.read == [WORDS]
    assert stack.telegram.messages == []


def dies_with_a_picture_on_its_way(
    stack: Stack, customer: Customer, *, part: dict[str, str], conversation: dict[str, str] | None = None
) -> None:
    """Another worker finds the picture as `part` says; the dead one's lease has run out by then."""
    knows(stack, customer, PHOTO)
    stack.model.play_for_good(reply(f"[IMAGE: {PHOTO}]"))
    stack.meta.fault_for(customer.id, Fault("slow", seconds=0), Fault("hang", delivered=False, seconds=30))
    customer.writes("Покажите кружку")
    stack.wait_for(lambda: not stack.meta.faults_left(), "the picture to be on its way")
    stack.kill("worker", how=signal.SIGKILL)
    cid = conversation_id(customer.account.channel, customer.account.id, customer.id)
    with redis.Redis.from_url(stack.valkey.url) as client:
        client.hset(f"ns:c:{cid}:plan", mapping={f"1:{name}": value for name, value in part.items()})
        client.hset(f"ns:c:{cid}", mapping={"lease_until": "0", **(conversation or {})})
        client.zadd("ns:due", {cid: 0})
        client.rpush("ns:wake", "1")
    stack.spawn("worker")
