"""A plan as Redis keeps it: written by one version, read by the one before and by the one after."""

from collections.abc import Mapping

import orjson
import pytest

from bot.conversation import PartState, Plan, PlanMeta
from bot.reply.rich_content import Link
from runtime.settings import Settings
from store.keys import conversation_key
from store.scripts import Scripts
from store.turns.decisions import AlreadyIn
from store.turns.plans import packed_meta, read_plan
from tests.store.lives import ObservedScripts
from tests.store.turns.turn_by_hand import CID, Turn

pytestmark = pytest.mark.anyio

LINKS = (Link("Каталог", "https://shop.example/a?b=1|2"), Link("Ещё", "https://shop.example/"))
META = PlanMeta(quick_replies=("Да", "Нет"), link_buttons=LINKS, scratchpad="{}")


def read(meta: str, **part: str) -> Plan:
    fields = {"id": "p", "n": "1", "keys": "k", "meta": meta, "0:text": "Ответ", "0:state": "unknown"}
    plan = read_plan(fields | {f"0:{name}": value for name, value in part.items()})
    assert plan is not None
    assert not plan.is_damaged
    return plan


def without(names: tuple[str, ...], meta: PlanMeta) -> Mapping[str, object]:
    return {name: value for name, value in orjson.loads(packed_meta(meta)).items() if name not in names}


def test_a_plan_comes_back_as_it_was_written() -> None:
    assert read(packed_meta(META)).meta == META


def test_the_version_before_finds_the_fields_that_it_reads() -> None:
    written = orjson.loads(packed_meta(META))

    assert written["buttons"] == "Да|Нет"
    assert written["links"] == "Каталог|https://shop.example/a?b=1|2\nЕщё|https://shop.example/"
    assert written["notebook"] == "{}"


def test_a_plan_of_the_version_before_goes_on() -> None:
    older = without(("quick_replies", "link_buttons", "scratchpad"), META)

    assert read(orjson.dumps(older).decode()).meta == META


def test_what_the_version_before_has_counted_in_the_code_goes_on() -> None:
    meta = packed_meta(PlanMeta())
    counts = [
        (part.misses, part.failed_looks)
        for part in (
            read(meta, code="looks 1 2").parts[0],
            read(meta, code="plain").parts[0],
            read(meta, code="", misses="1", failed_looks="3").parts[0],
        )
    ]

    assert counts == [(1, 2), (0, 0), (1, 3)]


@pytest.mark.parametrize(("state", "stands"), [("imagined", PartState.UNKNOWN), (None, PartState.DROPPED)])
async def test_a_part_whose_state_is_not_known_or_missing_is_not_sent_on_a_guess(
    scripts: Scripts, settings: Settings, state: str | None, stands: PartState
) -> None:
    turn = Turn(ObservedScripts(scripts.client), settings)
    await turn.writes()
    await turn.claims()
    await turn.plans()
    plan, key = turn.conversation.plan, f"{conversation_key(CID)}:plan"
    assert plan is not None
    await (scripts.command("HSET", key, "0:state", state) if state else scripts.command("HDEL", key, "0:state"))

    answer = await turn.lease.begin_part(plan.id, 0, margin_seconds=1)

    assert answer == AlreadyIn(stands)
