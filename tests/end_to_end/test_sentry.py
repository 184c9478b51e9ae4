"""What Sentry is told of a turn: its shape and its figures, and nothing that anybody said."""

import signal
from collections.abc import Iterator

import pytest

from runtime.queue import ANSWER
from runtime.sentry import TRACED_TASK
from sandbox.model.answers import Answer, tool_call
from sandbox.model.faults import FAULTS, TAGS
from sandbox.sentry import SentrySandbox
from sandbox.server import SandboxServer
from sandbox.stack import APP_SECRET, Stack, new_customer
from tests.end_to_end.people import Customer, all_closed

QUESTION = "Сколько стоит кружка «Туман»? Мой номер +7 900 123-45-67"
REPLY = "Кружка «Туман» стоит 1900 рублей, отложить?"
CALLS = [
    tool_call("search_knowledge", {"query": "кружка туман"}),
    tool_call("tell_79001234567", {"query": "позвоните +79001234567"}, call_id="call_b"),
]


@pytest.fixture(scope="module")
def sentry() -> Iterator[tuple[SentrySandbox, str]]:
    sandbox = SentrySandbox()
    with SandboxServer(sandbox.app) as server:
        yield sandbox, sandbox.dsn(server)


@pytest.fixture(scope="module")
def traced(sentry: tuple[SentrySandbox, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    more = "[telemetry]\ntraces_sample_rate = 1.0\n"
    with Stack(tmp_path_factory.mktemp("traced"), budget=12, more=more, environment={"SENTRY_DSN": sentry[1]}) as stack:
        yield stack


def test_a_turn_is_traced_without_a_word_of_it(traced: Stack, sentry: tuple[SentrySandbox, str]) -> None:
    sandbox, _ = sentry
    thought = "Клиент просит кружку, номер +79001234567."
    traced.model.script([Answer(content=None, reasoning=thought, tool_calls=CALLS, finish_reason="tool_calls")])
    traced.model.script([FAULTS["reasoning_lock"], f"{REPLY}\n{TAGS}"])
    customer = Customer(traced, new_customer())

    customer.writes(QUESTION)
    assert customer.waits_for(1) == [REPLY]
    traced.wait_for(lambda: sandbox.items("transaction"), "the trace")

    (trace,) = sandbox.items("transaction")
    spans = [(span["op"], span["description"]) for span in trace["spans"]]
    assert sorted(spans) == [
        ("gen_ai.chat", "chat deepseek/deepseek-v4-pro"),
        ("gen_ai.chat", "chat deepseek/deepseek-v4-pro"),
        ("gen_ai.chat", "chat deepseek/deepseek-v4-pro"),
        ("gen_ai.execute_tool", "execute_tool search_knowledge"),
        ("gen_ai.execute_tool", "execute_tool unknown"),
        ("gen_ai.invoke_agent", "invoke_agent nightshift"),
    ]
    (agent,) = [span for span in trace["spans"] if span["op"] == "gen_ai.invoke_agent"]
    assert {s["parent_span_id"] for s in trace["spans"] if s is not agent} == {agent["span_id"]}
    assert agent["data"]["gen_ai.conversation.id"]
    chats = [span["data"] for span in trace["spans"] if span["op"] == "gen_ai.chat"]
    assert [chat["nightshift.verdict"] for chat in chats] == ["tool_step", "retry_required", "success"]
    assert chats[1]["nightshift.rule"] == "reasoning_lock"
    assert all(chat["gen_ai.usage.output_tokens"] > 0 for chat in chats)

    all_closed(traced)
    for name in list(traced.running):
        traced.kill(name, how=signal.SIGTERM)
    told = b"\n".join(sandbox.raw).decode()
    secrets = (customer.id, "9001234567", "900 123", APP_SECRET, "sandbox-instagram-token", "sandbox-key")
    words = ("кружк", "Туман", "Сколько", "рублей", "\\u043a\\u0440\\u0443\\u0436", "Let me", "messages/")
    assert [secret for secret in (*secrets, *words, traced.telegram.token) if secret in told] == []


def test_the_task_that_is_traced_is_the_one_that_answers() -> None:
    assert TRACED_TASK == ANSWER
