"""Tool calls from deltas, whatever a server leaves out of them."""

from typing import Any

import pytest

from bot.model_output import ToolCall
from clients.llm.tool_call_drafts import ToolCallDrafts


def delta(name: str = "", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def drafted(*deltas: Any, whole: bool = False) -> ToolCallDrafts:
    drafts = ToolCallDrafts()
    for one in [list(deltas)] if whole else [[one] for one in deltas]:
        drafts.add(one, whole=whole)
    return drafts


@pytest.mark.parametrize(
    "deltas",
    [
        [delta("search", '{"q":', index=0, id="a"), delta("", ' "mug"}', index=0)],
        [delta("search", '{"q":', id="a"), delta("", ' "mug"}', id="a")],
        [delta("search", '{"q":', id="a"), delta("", ' "mug"}')],
        [delta("search", '{"q": "mug"}', id="a"), delta("", " \n")],
        [delta("search", {"q": "mug"}, id="a")],
        ["noise", delta("search", '{"q": "mug"}', id="a"), {"function": None}],
    ],
)
def test_one_call_in_pieces_is_one_call(deltas: list[Any]) -> None:
    [call] = drafted(*deltas).finished()

    assert (call.id, call.name, call.arguments.replace(" ", "")) == ("a", "search", '{"q":"mug"}')


@pytest.mark.parametrize(
    "deltas",
    [
        [delta("search", "{}", index=0, id="a"), delta("stock", "{}", index=1, id="b")],
        [delta("search", "{}", index=0, id="a"), delta("stock", "{}", index=0, id="b")],
        [delta("search", "{}", id="a"), delta("stock", "{}", id="b")],
        [delta("search", "{}"), delta("stock", "{}")],
    ],
)
def test_two_calls_stay_two_in_their_order(deltas: list[Any]) -> None:
    assert [call.name for call in drafted(*deltas).finished()] == ["search", "stock"]


def test_the_same_tool_again_is_another_call_once_the_first_is_whole() -> None:
    calls = drafted(delta("search", '{"q": 1}'), delta("search", '{"q": 2}')).finished()

    assert [call.arguments for call in calls] == ['{"q": 1}', '{"q": 2}']


def test_whole_calls_are_as_many_as_came() -> None:
    calls = drafted(delta("search", "{}", id="a"), delta("search", "{}", id="a"), whole=True).finished()

    assert calls == (ToolCall("a", "search", "{}"), ToolCall("call_2", "search", "{}"))


def test_an_id_made_up_is_none_that_a_server_gave() -> None:
    calls = drafted(delta("x", "{}", index=0, id="call_2"), delta("y", "{}", index=1)).finished()

    assert [call.id for call in calls] == ["call_2", "call_3"]


def test_no_arguments_are_an_empty_object() -> None:
    assert drafted(delta("search", None, id="a")).finished() == (ToolCall("a", "search", "{}"),)


def test_what_a_vendor_adds_goes_back_with_the_call() -> None:
    [raw] = drafted(delta("search", "{}", index=0, id="a", extra_content={"signature": "s"})).raw()

    assert raw == {
        "id": "a",
        "type": "function",
        "function": {"name": "search", "arguments": "{}"},
        "extra_content": {"signature": "s"},
    }


def test_blanks_are_no_call_and_no_progress() -> None:
    drafts = ToolCallDrafts()

    assert not drafts.add([delta("", "  ")], whole=False)
    assert drafts.finished() == ()
    assert drafts.add([delta("search", "")], whole=False)
