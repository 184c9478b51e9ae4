"""Every change of a conversation's state, and of a part's, is in the table, and everything in the table happens."""

from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random

import pytest

from bot.conversation import PartState
from bot.outcome import Deferral, Outcome, SilenceReason
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Debounce, Environment, Settings, Shift
from store.connection import connect
from store.schema.transitions import CONVERSATION, GONE, NONE, PART, PART_STATES, STATES, changes_of
from store.turns.lease import LeaseLost, OutcomeRefused
from tests.rooms import sources
from tests.store.lives import ACCOUNT, CONTACTS, TEXTS, Lives, ObservedScripts
from tests.store.turns.turn_by_hand import CONTACT, NothingToDoItWith, Turn

pytestmark = pytest.mark.anyio

LIVES, STEPS = 8, 200


@pytest.fixture
def settings(valkey: EmbeddedValkey) -> Settings:
    return Settings(
        env=Environment(redis_url=valkey.url, meta_app_id="555000111222333"),
        config=Config(
            accounts=(ACCOUNT,),
            debounce=Debounce(quiet_seconds=4, max_wait_seconds=15),
            shift=Shift(takeover_minutes=10),
        ),
    )


@pytest.fixture
async def observed(valkey: EmbeddedValkey) -> AsyncIterator[ObservedScripts]:
    client = connect(valkey.url, max_connections=5, timeout_seconds=5)
    await client.flushall()
    yield ObservedScripts(client)
    await client.aclose()


Step = Callable[[Turn], Awaitable[None]]

BEFORE: dict[str, Step] = {
    "nothing": lambda turn: turn.scripts.pass_time(0),
    "leased": Turn.leased,
    "planned": Turn.planned,
    "sending": Turn.sending,
    "sent": Turn.sent,
    "failed": Turn.failed,
    "not found": Turn.not_found,
    "unknown": Turn.unknown,
    "dropped": Turn.dropped,
    "failed beside another": Turn.failed_beside_another,
    "dropped for nothing": Turn.dropped_for_nothing,
    "stale": Turn.stale,
    "stale and dropped": Turn.stale_and_dropped,
}


def at_rest(then: Step) -> Step:
    async def steps(turn: Turn) -> None:
        await turn.writes("t0", SilenceReason.TEST_EVENT)
        await then(turn)

    return steps


def held(then: Step, reason: str = Deferral.HUMAN) -> Step:
    async def steps(turn: Turn) -> None:
        await turn.holds(reason, drop_plan=True)
        await then(turn)

    return steps


async def finishes_with_news(turn: Turn) -> None:
    await turn.writes("m2")
    await turn.finishes(Outcome.ANSWERED)


async def finishes_for_people(turn: Turn) -> None:
    await turn.writes("m2")
    await turn.finishes(Outcome.ANSWERED, takeover_seconds=600)


async def proves_that_the_echo_was_ours(turn: Turn) -> None:
    await turn.records(PartState.SENT, part=1, mid="h1")


async def reads_back_an_older_humans_words(turn: Turn) -> None:
    """The turn has begun since the waiting was over, and they are older than its end."""
    await turn.holds(Deferral.HUMAN, drop_plan=True)
    await turn.scripts.pass_time(60)
    await turn.claims()
    await turn.echo("Это Мария", "h2", found="reconcile")


async def nothing_arrived_of_what_was_taken_back(turn: Turn) -> None:
    await turn.deletes()
    await turn.records(PartState.FAILED)
    await turn.holds()
    await turn.scripts.pass_time(60)
    await turn.claims()


async def nothing_arrived_and_its_worker_is_gone(turn: Turn) -> None:
    await turn.deletes()
    await turn.records(PartState.FAILED)
    await turn.claims()


async def begins_the_reaction_to_what_was_taken_back(turn: Turn) -> None:
    await turn.deletes()
    await turn.begins(2)


async def begins_again_the_reaction_to_what_was_taken_back(turn: Turn) -> None:
    await turn.begins(2)
    await turn.records(PartState.FAILED, part=2)
    await turn.deletes()
    await turn.begins(2)


async def begins_again_and_takes_it_back(turn: Turn) -> None:
    await turn.begins()
    await turn.takes_back()


async def writes_to_people(turn: Turn) -> None:
    await turn.echo("Это Мария", "h3")
    await turn.scripts.pass_time(30)  # sooner, and it was the greeting of an ad
    await turn.writes("m3")


def gathering(then: Step) -> Step:
    async def steps(turn: Turn) -> None:
        await turn.writes()
        await then(turn)

    return steps


TO_A_PART: list[Step] = [
    Turn.writes,
    lambda turn: turn.writes("t1", SilenceReason.STANDBY),
    Turn.edits,
    Turn.deletes,
    Turn.control,
    lambda turn: turn.echo("Это Мария", "h3"),
    lambda turn: turn.echo("Это Мария", "h3", found="reconcile"),
    lambda turn: turn.echo(TEXTS[0], "s9"),
    lambda turn: turn.echo(TEXTS[0], "s9", found="reconcile"),
    Turn.answers_a_comment,
    Turn.claims,
    Turn.plans,
    Turn.begins,
    lambda turn: turn.begins(1),
    begins_the_reaction_to_what_was_taken_back,
    begins_again_the_reaction_to_what_was_taken_back,
    Turn.takes_back,
    begins_again_and_takes_it_back,
    lambda turn: turn.records(PartState.SENT, mid="s9"),
    lambda turn: turn.records(PartState.FAILED),
    lambda turn: turn.records(PartState.UNKNOWN),
    proves_that_the_echo_was_ours,
    lambda turn: turn.finishes(Outcome.ANSWERED),
    lambda turn: turn.finishes(Outcome.UNDELIVERABLE),
    finishes_with_news,
    finishes_for_people,
    Turn.holds,
    lambda turn: turn.holds(drop_plan=True),
    Turn.abandons,
    Turn.lets_another_worker_have_it,
]
TO_A_CONVERSATION: list[Step] = [
    *TO_A_PART,
    reads_back_an_older_humans_words,
    nothing_arrived_of_what_was_taken_back,
    nothing_arrived_and_its_worker_is_gone,
    at_rest(Turn.writes),
    at_rest(writes_to_people),
    gathering(Turn.control),
    gathering(lambda turn: turn.echo("Это Мария", "h3")),
    gathering(lambda turn: turn.echo("Это Мария", "h3", found="reconcile")),
    gathering(Turn.deletes),
    held(Turn.claims, Deferral.BACKOFF),
    held(Turn.deletes),
    held(lambda turn: turn.echo("Это Мария", "h3")),
    held(lambda turn: turn.echo("Это Мария", "h3", found="reconcile")),
]
NOT_POSSIBLE_THERE = (NothingToDoItWith, LeaseLost, OutcomeRefused)


async def act_by_act(scripts: ObservedScripts, settings: Settings) -> None:
    """From every state of a part, everything that may happen to it, as far as it may."""
    for name, before in BEFORE.items():
        for then in TO_A_CONVERSATION if name in ("nothing", "leased", "sending") else TO_A_PART:
            await scripts.begin_anew(CONTACT)
            turn = Turn(scripts, settings)
            await before(turn)
            try:
                await then(turn)
            except NOT_POSSIBLE_THERE:
                continue


async def lives_at_random(scripts: ObservedScripts, settings: Settings) -> None:
    for seed in range(LIVES):
        await scripts.begin_anew(*CONTACTS)
        lives = Lives(scripts, settings, Random(seed))
        for _ in range(STEPS):
            await lives.step()


async def test_every_change_is_in_the_table_and_every_row_of_it_happens(
    observed: ObservedScripts, settings: Settings
) -> None:
    await act_by_act(observed, settings)
    by_hand = set(observed.conversations), set(observed.parts)
    await lives_at_random(observed, settings)

    for rows, found, sure in (
        (CONVERSATION, observed.conversations, by_hand[0]),
        (PART, observed.parts, by_hand[1]),
    ):
        assert set(found) - changes_of(rows) == set(), "not in the table"
        assert changes_of(rows) - sure == set(), "does not happen"


def test_the_tables_speak_of_every_state_and_of_no_other() -> None:
    for rows, states in ((CONVERSATION, set(STATES)), (PART, set(PART_STATES))):
        changes = changes_of(rows)
        assert {before for before, _, _ in changes} == states | {NONE}
        assert {after for _, _, after in changes} - {GONE} == states
        assert len(changes) == sum(len(row.before) * len(row.by) for row in rows), "a change stands in two rows"
    assert set(PART_STATES) == set(PartState)


def test_what_changes_a_state_is_a_script_or_an_event() -> None:
    scripts = {file.stem for file in sources("store", kinds=(".lua",))}
    events = {"message", "echo", "late echo", "edit", "deletion", "thread control"}

    assert {by for _, by, _ in changes_of((*CONVERSATION, *PART))} - events <= scripts
