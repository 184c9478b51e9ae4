"""A customer counts as told when words have arrived; else the books say that they have not, and managers hear of it."""

from typing import Any

import pytest

from bot.conversation import PartState, PlanMeta
from runtime.clock import now_ms
from sandbox.meta.faults import Fault
from store.schedule import Schedule
from store.turns.conversations import Claimed, Conversations
from store.turns.decisions import AlreadyArrived
from tests.worker.turning import TurnBench
from worker.services import Services

pytestmark = pytest.mark.anyio
TRANSIENT = Fault("refuse", code=2, subcode=1545133, status=500)
TOO_LONG = Fault("refuse", code=100, subcode=2018109, status=400)


def without_a_mind(turns: TurnBench) -> Services:
    """A bug of ours, whatever it is."""
    return turns.another(agents={})


async def test_a_stub_that_is_refused_for_now_is_sent_later(turns: TurnBench) -> None:
    await turns.writes("m")
    sick = without_a_mind(turns)
    turns.meta.fault_for(turns.contact.customer_id, TRANSIENT, TRANSIENT, TRANSIENT, TRANSIENT)

    failed = await turns.turns(3, sick)
    waiting = await turns.turns(4, sick)
    books = await turns.books()
    last = await turns.turn(sick)

    assert failed == ["failed: KeyError"] * 3
    assert waiting == ["waits: transient"] * 4
    assert books == {"received": 1, "open": 1}
    assert last == "handed_over (turns_failed)"
    assert len(turns.read) == 1
    assert await turns.books() == {"received": 1, "handed_over": 1}


async def test_the_backoff_of_a_stub_grows_while_the_model_is_away(turns: TurnBench) -> None:
    await turns.writes("m")
    turns.model.play_for_good("")
    turns.meta.fault_for(turns.contact.customer_id, *[TRANSIENT] * 4)

    await turns.turn()
    asked = len(turns.model.requests)
    plans = []
    for _ in range(3):
        await turns.turn()
        plans.append(await turns.plan())

    assert len(turns.model.requests) == asked, "the stub that waits is not thought about again and again"
    assert [plan["0:tries"] for plan in plans] == ["2", "3", "4"]
    assert len({plan["id"] for plan in plans}) == 1
    assert (await turns.turn()).startswith("handed_over")


async def test_a_stub_that_has_become_old_gives_way_to_another_thought(turns: TurnBench) -> None:
    await turns.writes("m")
    turns.model.play_for_good("")
    turns.meta.fault_for(turns.contact.customer_id, TRANSIENT)
    await turns.turn()
    turns.model.reset()
    await turns.scripts.command("HSET", f"ns:c:{turns.cid}:plan", "made_at", now_ms() - 400_000)

    assert (await turns.turn()).startswith("answered")


async def test_a_throttled_account_delays_the_stub(turns: TurnBench) -> None:
    await turns.writes("m")
    sick = without_a_mind(turns)
    turns.meta.throttle_next()

    words = await turns.turns(4, sick)
    await turns.scripts.command("DEL", f"ns:parked:instagram:{turns.contact.account_id}")
    last = await turns.turn(sick)

    assert words[-1] == "waits: throttled"
    assert last == "handed_over (turns_failed)"
    assert len(turns.read) == 1


async def test_words_that_meta_refuses_are_followed_by_others_and_then_by_the_truth(turns: TurnBench) -> None:
    await turns.writes("m")
    turns.answers("Кружка стоит 1900 рублей.")
    turns.meta.fault_for(turns.contact.customer_id, TOO_LONG, TOO_LONG)

    word = await turns.turn()

    assert word == "undeliverable"
    assert turns.read == []
    assert await turns.books() == {"received": 1, "undeliverable": 1}
    [alert] = await turns.alerts()
    assert alert["rule"] == "bad_content"
    assert not alert["told"]


async def test_a_refused_stub_is_followed_by_other_words(turns: TurnBench) -> None:
    await turns.writes("m", "Позовите человека")
    turns.meta.fault_for(turns.contact.customer_id, TOO_LONG)

    word = await turns.turn()

    assert word == "handed_over (bad_content)"
    assert len(turns.read) == 1
    assert await turns.books() == {"received": 1, "handed_over": 1}


async def test_a_handover_that_nobody_can_clear_up_is_not_told(turns: TurnBench) -> None:
    await turns.writes("m")
    lost = Fault("cut", delivered=False)
    turns.meta.fault_for(turns.contact.customer_id, lost, lost)
    turns.meta.refuse_next(100, 33, 400, times=2, on="reads")

    words = await turns.turns(4)

    assert "undeliverable" in words
    assert await turns.books() == {"received": 1, "undeliverable": 1}
    assert [alert["told"] for alert in await turns.alerts()] == [False]


async def test_a_bug_in_delivering_ends_with_what_is_true(turns: TurnBench) -> None:
    await turns.writes("m")
    sick = turns.another(now_ms=None)

    words = await turns.turns(7, sick)

    assert words == ["failed: TypeError"] * 6 + ["undeliverable"]
    assert turns.read == []
    assert await turns.books() == {"received": 1, "undeliverable": 1}
    [alert] = await turns.alerts()
    assert (alert["rule"], alert["told"]) == ("turns_failed", False)


async def test_a_bug_that_is_mended_meanwhile_costs_the_customer_nothing(turns: TurnBench) -> None:
    await turns.writes("m")
    await turns.turns(3, turns.another(now_ms=None))

    word = await turns.turn()

    assert word == "handed_over (turns_failed)"
    assert len(turns.read) == 1


async def test_a_stub_of_which_a_part_arrived_was_told(turns: TurnBench) -> None:
    await turns.writes("m", "Позовите человека")
    turns.meta.fault_for(turns.contact.customer_id, TRANSIENT)
    await turns.turn()
    plan = f"ns:c:{turns.cid}:plan"
    await turns.scripts.command("HSET", plan, "n", 2, "all", 2, "1:text", "И ещё.", "1:hash", "x", "1:state", "planned")
    turns.meta.fault_for(turns.contact.customer_id, Fault("slow"), TOO_LONG)

    word = await turns.turn()

    assert word == "handed_over"
    assert await turns.books() == {"received": 1, "handed_over": 1}
    assert [alert["told"] for alert in await turns.alerts()] == [True]


async def test_an_echo_that_proves_a_doubtful_send_in_the_last_moment_counts(turns: TurnBench) -> None:
    """It comes between the turn's last look and its end."""
    await turns.writes("m")
    turns.answers("Кружка стоит 1900 рублей.")
    turns.meta.fault_for(turns.contact.customer_id, Fault("cut", delivered=True), TOO_LONG)
    turns.meta.refuse_next(100, 33, 400, on="reads")
    await turns.turn()
    conversations: Conversations = turns.house.conversations

    class EchoComesFirst(Conversations):
        def __init__(self) -> None:
            vars(self).update(vars(conversations))

        async def record(self, conversation_id: str, plan_id: str, part: int, state: PartState, **more: Any) -> Any:
            stands = await super().record(conversation_id, plan_id, part, state, **more)
            if state is PartState.FAILED:  # its own echo, or another proof
                await super().record(conversation_id, plan_id, part, PartState.SENT, mid="late-proof")
            return stands

    word = await turns.turn(turns.another(conversations=EchoComesFirst()))
    last = await turns.turn()

    assert word == "waits: settling"
    assert last.startswith("handed_over")
    assert await turns.books() == {"received": 1, "handed_over": 1}


async def test_a_reply_that_proves_to_have_arrived_is_not_replaced(turns: TurnBench) -> None:
    await turns.writes("m")
    await Schedule(turns.scripts).pop_due(limit=10, quota=10)
    await turns.scripts.command("ZADD", "ns:handed", 1, turns.cid)
    claimed = await turns.house.conversations.claim(turns.cid)
    assert isinstance(claimed, Claimed)
    lease, conversation = claimed.lease, claimed.conversation
    planned = (await lease.plan(conversation, ["Кружка стоит 1900."], PlanMeta())).conversation
    assert planned.plan is not None
    await lease.begin_part(planned.plan.id, 0, margin_seconds=1)
    await turns.house.conversations.record(turns.cid, planned.plan.id, 0, PartState.UNKNOWN)
    # While the turn decides to hand over, the echo comes.
    await turns.house.conversations.record(turns.cid, planned.plan.id, 0, PartState.SENT, mid="echoed")

    handover = PlanMeta("handed_over", "send_unknown")
    replaced = await lease.plan(planned, ["Ответит коллега."], handover, whatever_changed=True)
    await lease.hold(0, "released")
    last = await turns.turn()

    assert isinstance(replaced, AlreadyArrived)
    assert [part.text for part in replaced.plan.parts] == ["Кружка стоит 1900."]
    assert last == "answered"
    assert await turns.books() == {"received": 1, "answered": 1}
