"""The model fails: once, so that the ladder must rescue the reply, or for good, so that only the stub is left."""

from collections.abc import Callable

from rehearsal.customers import Customers, reply_with
from rehearsal.faults.fault import ANSWERED, HANDED_OVER, Fault
from rehearsal.workload import Person
from sandbox.model.answers import Answer
from sandbox.model.faults import FAULTS

_ONCE = {
    "reasoning_lock": "only hidden thoughts, and `stop`",
    "length_lock": "every token spent on thoughts",
    "true_empty": "no tokens at all",
    "zero_width": "invisible characters",
    "tags_only": "tags and no words",
    "unclosed_think": "a thought that never closes",
    "dsml": "a tool call written as text",
    "wrong_language": "an answer in Chinese",
    "prompt_leak": "its own instructions recited",
    "bad_arguments": "a tool call that is no JSON",
    "unknown_tool": "a tool that does not exist",
    "error_in_200": "an error behind a 200",
    "malformed_json": "half a JSON object",
    "html_200": "a sign-in page instead of an answer",
    "cut_stream": "the stream ends in mid-sentence",
    "broken_connection": "the connection is lost",
    "stall": "the stream stops and stays open",
    "hang": "not even a status line",
    "429": "rate limit",
    "503": "overloaded",
    "context_overflow": "the request is called too long",
}
_FOR_GOOD = {
    "reasoning_lock": "only hidden thoughts, from every model and rung",
    "zero_width": "never a visible character",
    "call_on_last_step": "tools on every step, forbidden or not",
    "401": "the key is refused",
    "502_html": "the provider is down",
    "hang": "never an answer",
    "thinking_forever": "thinks until it is cut off",
}


def _once(name: str) -> Callable[[Customers, Person], None]:
    return lambda customers, person: customers.model_plays(person, FAULTS[name])


def _for_good(name: str) -> Callable[[Customers, Person], None]:
    return lambda customers, person: customers.model_plays(person, for_good=FAULTS[name])


def _slow(customers: Customers, person: Person) -> None:
    markers = [line.marker for line in person.lines]
    customers.model_plays(
        person, Answer(content=reply_with(markers), delay_seconds=2.0, comments=2, pause_seconds=0.05)
    )


MODEL_FAULTS = (
    *(Fault(f"model_{name}_once", "model", says, ANSWERED, _once(name)) for name, says in _ONCE.items()),
    *(Fault(f"model_{name}_for_good", "model", says, HANDED_OVER, _for_good(name)) for name, says in _FOR_GOOD.items()),
    Fault("model_slow", "model", "words arrive by drops, seconds late", ANSWERED, _slow),
)
