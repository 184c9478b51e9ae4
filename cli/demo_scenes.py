"""The demo's five scenes: what the customer writes, and what Nightshift promises to make of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from bot.outcome import Outcome
from runtime.settings import Model
from sandbox.model import shop_assistant
from sandbox.model.shop_assistant import DEMO_TEXTS

LAST_STEP = Model().max_steps - 1
WHOLE_LADDER = ("main", "kick_1", "kick_2", "fallback")


@dataclass(frozen=True, slots=True)
class Line:
    """A message or an alert; `at` is in Unix seconds."""

    at: float
    text: str


class Attempt(BaseModel):
    """What the demo shows of one request to the model, as telemetry has it; blank fields may be missing there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    rung: str
    step: int
    model_asked: str
    verdict: str
    rule: str = ""
    tool_choice: str = ""
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a scene. `outcomes` has one word for each message, `attempts` those of all its `turns`."""

    customer_id: str
    said: tuple[Line, ...]
    replies: tuple[Line, ...]
    outcomes: tuple[str, ...]
    turns: int
    attempts: tuple[Attempt, ...]
    alerts: tuple[Line, ...]

    @property
    def rungs(self) -> tuple[str, ...]:
        """The rungs climbed, in order; the last one gave the reply, if there was one."""
        return tuple(dict.fromkeys(attempt.rung for attempt in self.attempts))

    @property
    def rescued_by(self) -> str:
        """The rung that gave the reply, "" when none did."""
        return self.attempts[-1].rung if self.attempts and self.attempts[-1].verdict == "success" else ""

    @property
    def tool_steps(self) -> int:
        return sum(attempt.verdict == "tool_step" for attempt in self.attempts)

    @property
    def forced(self) -> bool:
        """Whether the turn ended at the very last step, with tools forbidden."""
        return bool(self.attempts) and (self.attempts[-1].step, self.attempts[-1].tool_choice) == (LAST_STEP, "none")


@dataclass(frozen=True, slots=True)
class Promise:
    """`tool_steps` and `alerts` are the numbers that are right."""

    outcome: Outcome = Outcome.ANSWERED
    rungs: tuple[str, ...] = ("main",)
    tool_steps: Sequence[int] = (0,)
    alerts: Sequence[int] = (0,)
    forced: bool = False

    def broken(self, seen: Seen, *, stub: str) -> list[str]:
        """Each difference between the promise and what was seen, as a sentence."""
        stubs = sum(reply.text == stub for reply in seen.replies)
        rescuer = self.rungs[-1] if self.outcome is Outcome.ANSWERED else ""
        checks = (
            ("replies to the customer", (1,), len(seen.replies)),
            ("fixed lines in place of a reply", (int(self.outcome is Outcome.HANDED_OVER),), stubs),
            ("outcome of each message", ((self.outcome.value,) * len(seen.said),), seen.outcomes),
            ("turns", (1,), seen.turns),
            ("rungs climbed", (self.rungs,), seen.rungs),
            ("rung that gave the reply", (rescuer,), seen.rescued_by),
            ("steps that used tools", self.tool_steps, seen.tool_steps),
            ("ended at the last step, without tools", (self.forced,), seen.forced),
            ("alerts to the managers", self.alerts, len(seen.alerts)),
        )
        return [
            f"{what}: {_words(found)}, but {' or '.join(map(_words, right))} was promised"
            for what, right, found in checks
            if found not in right
        ]


@dataclass(frozen=True, slots=True)
class Scene:
    """`texts` by language, each one a webhook of its own; `shows` is the promise in plain words.

    `topic` is its title where the model cannot be told what to do.
    """

    title: str
    topic: str
    shows: str
    texts: Mapping[str, Sequence[str]]
    promise: Promise


def scenes(*, catalogue_as_shipped: bool) -> tuple[Scene, ...]:
    """With another catalogue the sandbox's assistant may find nothing and call a colleague, which is an alert."""
    perhaps = (0,) if catalogue_as_shipped else (0, 1)
    one = {name: {language: (text,) for language, text in texts.items()} for name, texts in DEMO_TEXTS.items()}
    question = DEMO_TEXTS[shop_assistant.CATALOGUE]
    return (
        Scene(
            "Three messages, one answer",
            "Three messages, one answer",
            "People write in bursts. Nightshift waits for the last message, searches the catalogue, answers once.",
            {
                "ru": ("Ой, какая у вас красота 😍", "случайно увидела в ленте", question["ru"]),
                "en": ("Oh, these are gorgeous 😍", "just saw you in my feed", question["en"]),
            },
            Promise(tool_steps=range(1, LAST_STEP), alerts=perhaps),
        ),
        Scene(
            "A message that fits no script",
            "A kind word",
            "No script and no tool fits, so stage 4 answers: a short, warm reply.",
            one[shop_assistant.SMALL_TALK],
            Promise(),
        ),
        Scene(
            "Reasoning Lock, once",
            "A gift for a mother",
            "The model thinks, says nothing, and calls that success. A kick wakes it; the customer notices nothing.",
            one[shop_assistant.LOCKED_ONCE],
            Promise(rungs=WHOLE_LADDER[:2]),
        ),
        Scene(
            "Reasoning Lock, for good",
            "A dream",
            "No model says a word, however it is asked. The customer is told that a person will answer, and the "
            "managers are alerted.",
            one[shop_assistant.LOCKED_FOR_GOOD],
            Promise(outcome=Outcome.HANDED_OVER, rungs=WHOLE_LADDER, alerts=(1,)),
        ),
        Scene(
            "A question that wants to search for ever",
            "A comparison of everything",
            f"The model searches on and on. At step {LAST_STEP + 1} of {LAST_STEP + 1} tools are forbidden, and it "
            "has to answer with what it has.",
            one[shop_assistant.TOOL_HUNGRY],
            Promise(tool_steps=(LAST_STEP,), alerts=perhaps, forced=True),
        ),
    )


def broken_for_any_model(seen: Seen, *, stub: str) -> list[str]:
    """A real model cannot be told how to fail: one fit reply (in parts, if it is long) or the stub, and no silence."""
    texts = [reply.text for reply in seen.replies]
    if not texts or not all(text.strip() for text in texts):
        return ["the customer was left without a reply"]
    outcome = Outcome.HANDED_OVER if stub in texts else Outcome.ANSWERED
    if set(seen.outcomes) != {outcome.value}:
        return [f"outcome of each message: {_words(seen.outcomes)}, but the customer read {_a_reply(outcome)}"]
    if outcome is Outcome.HANDED_OVER and not seen.alerts:
        return ["the customer was told that a person will answer, but nobody was alerted"]
    return []


def _a_reply(outcome: Outcome) -> str:
    return "that a person will answer" if outcome is Outcome.HANDED_OVER else "a reply"


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value) or "none"
