"""The model's stand-in refuses what real servers refuse, obeys its script, and plays the demo's scenes."""

from typing import Any

import httpx
import orjson
import pytest

from sandbox.model.answers import Answer, tool_call
from sandbox.model.faults import FAULTS
from sandbox.model.server import DEMO_TEXTS, ModelStandIn
from sandbox.model.shop_assistant import PROMPTS
from sandbox.server import SandboxServer

pytestmark = pytest.mark.anyio

SYSTEM = {"role": "system", "content": "You are the assistant of an invented studio."}
USER = {"role": "user", "content": "Hello!"}
TOOLS = [{"type": "function", "function": {"name": "search_knowledge", "parameters": {"type": "object"}}}]
CALL = tool_call("search_knowledge", {"query": "mug"}, call_id="c1")
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "Let me look."}
RESULT = {
    "role": "tool",
    "tool_call_id": "c1",
    "content": "Кружка «Туман»\nname_en: Mug Mist; price_rub: 1900; stock: 7",
}


@pytest.fixture
def api(http: httpx.AsyncClient, model_server: SandboxServer) -> "Api":
    return Api(http, model_server.url)


class Api:
    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self.http, self.url = http, url

    async def chat(self, *messages: dict[str, Any], key: str = "k", **fields: Any) -> httpx.Response:
        body = {"model": "deepseek/deepseek-v4-pro", "messages": list(messages), **fields}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return await self.http.post(f"{self.url}/chat/completions", json=body, headers=headers)

    async def message(self, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
        response = await self.chat(*messages, **fields)
        assert response.status_code == 200, response.text
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        return message


@pytest.mark.parametrize(
    ("messages", "fields", "status"),
    [
        ([SYSTEM, SYSTEM, USER], {}, 400),
        ([USER, SYSTEM], {}, 400),
        ([SYSTEM, USER, {"role": "assistant", "content": ""}, USER], {}, 400),
        ([SYSTEM, USER, {"role": "assistant", "content": None}, USER], {}, 400),
        ([SYSTEM, USER, {"role": "assistant", "content": "Hi"}], {}, 400),
        ([SYSTEM, {"role": "user", "content": "  "}], {}, 400),
        ([SYSTEM, USER, RESULT], {"tools": TOOLS}, 400),
        ([SYSTEM, USER, CALLED, USER], {"tools": TOOLS}, 400),
        ([SYSTEM, USER, CALLED], {"tools": TOOLS}, 400),
        ([SYSTEM, USER, CALLED, RESULT], {}, 400),
        ([SYSTEM, USER, {**CALLED, "content": ""}, RESULT], {"tools": TOOLS}, 400),
        ([SYSTEM, USER, {**CALLED, "tool_calls": [CALL, CALL]}, RESULT], {"tools": TOOLS}, 400),
        ([SYSTEM, USER, {k: v for k, v in CALLED.items() if k != "reasoning"}, RESULT], {"tools": TOOLS}, 400),
        ([SYSTEM, {"role": "developer", "content": "x"}], {}, 400),
        ([SYSTEM, USER], {"model": ""}, 400),
        ([SYSTEM, USER], {"max_tokens": 0}, 400),
        ([SYSTEM, USER], {"tool_choice": "sometimes"}, 404),
        ([SYSTEM, USER], {"key": ""}, 401),
        ([], {}, 400),
        ([SYSTEM, USER, CALLED, RESULT], {"tools": TOOLS}, 200),
        ([SYSTEM, USER], {}, 200),
    ],
)
async def test_what_real_servers_refuse_is_refused(
    model: ModelStandIn, api: Api, messages: list[dict[str, Any]], fields: dict[str, Any], status: int
) -> None:
    response = await api.chat(*messages, **fields)

    assert response.status_code == status
    assert len(model.requests) == 1
    if status != 200:
        assert response.json()["error"]["code"] == status


async def test_a_script_is_played_in_order_and_by_model(model: ModelStandIn, api: Api) -> None:
    model.script(["for anybody"])
    model.script(["for qwen"], model="qwen/qwen3.8-flash")
    model.script([Answer(content="second")])

    assert (await api.message(USER))["content"] == "for anybody"
    assert (await api.message(USER))["content"] == "second"
    assert (await api.message(USER, model="qwen/qwen3.8-flash"))["content"] == "for qwen"
    assert model.unused == 0


async def test_a_fault_can_last(model: ModelStandIn, api: Api) -> None:
    model.play_for_good(FAULTS["reasoning_lock"], model="deepseek/deepseek-v4-pro")

    assert [(await api.message(USER))["content"] for _ in range(3)] == ["", "", ""]
    assert (await api.message(USER, model="qwen/qwen3.8-flash"))["content"]


async def test_another_process_can_script_it(model: ModelStandIn, api: Api) -> None:
    order = {"script": ["one", {"fault": "429"}, {"content": "three", "reasoning": ""}], "for_good": {"fault": "500"}}
    answer = await api.http.post(f"{api.url}/_control", json=order)

    statuses = [(await api.chat(USER)).status_code for _ in range(4)]
    state = (await api.http.get(f"{api.url}/_control")).json()

    assert answer.json()["unused"] == 3
    assert statuses == [200, 429, 200, 500]
    assert len(state["requests"]) == 4
    assert set(state["faults"]) == set(FAULTS)


@pytest.mark.parametrize(
    "order", [b"[]", b"{", b'{"script": [{"fault": "none"}]}', b'{"script": [{"colour": 1}]}', b'{"for_good": 5}']
)
async def test_a_wrong_order_is_refused(model: ModelStandIn, api: Api, order: bytes) -> None:
    answer = await api.http.post(f"{api.url}/_control", content=order)

    assert answer.status_code == 400
    assert model.unused == 0


async def test_the_other_addresses_answer_as_at_openrouter(model: ModelStandIn, api: Api) -> None:
    bearer = {"Authorization": "Bearer k"}
    models = (await api.http.get(f"{api.url}/models")).json()["data"]
    key = (await api.http.get(f"{api.url}/key", headers=bearer)).json()["data"]
    known = await api.http.get(f"{api.url}/generation", params={"id": "gen-sandbox-000001"}, headers=bearer)
    unknown = await api.http.get(f"{api.url}/generation", params={"id": "gen-else"}, headers=bearer)

    assert all("mandatory" in entry["reasoning"] for entry in models)
    assert key["limit_remaining"] > 0
    assert (known.status_code, unknown.status_code) == (200, 404)


def test_the_catalogue_is_broad() -> None:
    assert len(FAULTS) >= 35
    assert all(name == fault.name and fault.row for name, fault in FAULTS.items())


async def test_small_talk_is_answered_in_the_customers_language(model: ModelStandIn, api: Api) -> None:
    assert "Спасибо" in (await api.message(SYSTEM, {"role": "user", "content": "Привет!"}))["content"]
    assert "Дякуємо" in (await api.message(SYSTEM, {"role": "user", "content": "Привіт, як справи?"}))["content"]
    english = (await api.message(SYSTEM, USER))["content"]
    assert english.startswith("Thank you")
    assert english.endswith("[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]")


@pytest.mark.parametrize("language", ["ru", "en"])
async def test_a_price_is_looked_up_before_it_is_named(model: ModelStandIn, api: Api, language: str) -> None:
    question = {"role": "user", "content": DEMO_TEXTS["catalogue"][language]}
    first = await api.message(SYSTEM, question, tools=TOOLS)
    result = {**RESULT, "tool_call_id": first["tool_calls"][0]["id"]}

    second = await api.message(SYSTEM, question, first, result, tools=TOOLS)

    assert first["content"] is None
    assert first["tool_calls"][0]["function"]["name"] == "search_knowledge"
    assert ("Кружка «Туман» — 1900 ₽" if language == "ru" else "Mug Mist — 1900 ₽") in second["content"]


def kick(locale: str, number: int) -> str:
    return (PROMPTS / locale / f"kick-{number}.md").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("number", [1, 2])
async def test_a_lock_opens_at_a_kick(model: ModelStandIn, api: Api, language: str, number: int) -> None:
    words = {"role": "user", "content": DEMO_TEXTS["reasoning_lock_once"][language]}
    kicked = (
        [{**SYSTEM, "content": f"{SYSTEM['content']}\n\n{kick('ru', 1)}"}, words]
        if number == 1
        else [SYSTEM, words, {"role": "user", "content": kick("ru", 2)}]
    )

    locked = await api.message(SYSTEM, words)
    opened = await api.message(*kicked)

    assert (locked["content"], bool(locked["reasoning"])) == ("", True)
    assert opened["content"].startswith("Какой тёплый" if language == "ru" else "What a warm")


async def test_a_lock_for_good_never_opens(model: ModelStandIn, api: Api) -> None:
    words = {"role": "user", "content": DEMO_TEXTS["reasoning_lock_for_good"]["ru"]}
    system = {**SYSTEM, "content": kick("ru", 1)}

    assert (await api.message(system, words))["content"] == ""
    assert (await api.message(system, words, model="qwen/qwen3.8-flash"))["content"] == ""


async def test_a_locked_main_model_leaves_the_fallback_to_answer(model: ModelStandIn, api: Api) -> None:
    words = {"role": "user", "content": DEMO_TEXTS["main_model_locked"]["en"]}

    assert (await api.message(SYSTEM, words))["content"] == ""
    assert (await api.message({**SYSTEM, "content": kick("en", 1)}, words))["content"] == ""
    assert (await api.message(SYSTEM, words, model="qwen/qwen3.8-flash"))["content"]


async def test_a_hungry_mind_searches_until_tools_are_forbidden(model: ModelStandIn, api: Api) -> None:
    history: list[dict[str, Any]] = [SYSTEM, {"role": "user", "content": DEMO_TEXTS["tool_hungry"]["ru"]}]
    asked = []
    for _ in range(19):
        message = await api.message(*history, tools=TOOLS)
        asked.append(message["tool_calls"][0]["function"]["arguments"])
        history += [message, {**RESULT, "tool_call_id": message["tool_calls"][0]["id"]}]

    last = await api.message(*history, tools=TOOLS, tool_choice="none")

    assert len(set(asked)) == 19
    assert "tool_calls" not in last
    assert "1900 ₽" in last["content"]


async def test_the_streamed_and_the_whole_answer_say_the_same(model: ModelStandIn, api: Api) -> None:
    whole = (await api.message(SYSTEM, USER))["content"]
    streamed = await api.chat(SYSTEM, USER, stream=True)

    events = [line[6:] for line in streamed.text.split("\n\n") if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in orjson.loads(event)["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == whole
    assert streamed.text.endswith("data: [DONE]\n\n")
