"""The other side of a rehearsal: customers who write, a model that says their words back, and what each of them met."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from bot.incoming.events import Contact
from rehearsal.faults.fault import Fault
from rehearsal.workload import MARKER, Line, Person, Scene
from runtime.settings import Account
from sandbox.meta.faults import Fault as GraphFault
from sandbox.meta.server import MetaSandbox
from sandbox.meta.webhooks import WebhookItem
from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.faults import TAGS
from sandbox.model.faults import Fault as ModelFault
from sandbox.model.server import ModelStandIn
from sandbox.telegram.server import TelegramSandbox
from store.hashing import key_of

# Meta repeats an unanswered webhook for hours; these tries, each after twice the wait, last for about half a minute.
WEBHOOK_TRIES = 8


@dataclass(slots=True)
class Post:
    """One message that a customer sent; `acknowledged` when a 200 came for it."""

    mid: str
    key: str
    marker: str
    burst: int
    acknowledged: bool = False


@dataclass(slots=True)
class CustomerRun:
    """What one customer did and under which fault."""

    fault: Fault
    person: Person
    account: Account
    posts: list[Post] = field(default_factory=list)

    @property
    def conversation_id(self) -> str:
        return Contact(self.account.channel, self.account.id, self.person.customer_id).conversation_id


@dataclass(slots=True)
class _Part:
    """How the model behaves towards one customer: first these, then for good that."""

    person: Person
    once: deque[ModelFault | Answer] = field(default_factory=deque)
    for_good: ModelFault | Answer | None = None


class Customers:
    def __init__(self, meta: MetaSandbox, model: ModelStandIn, telegram: TelegramSandbox) -> None:
        self.meta = meta
        self.model = model
        self.telegram = telegram
        self.customer_runs: dict[str, CustomerRun] = {}
        self._parts: dict[str, _Part] = {}
        model.play_for_good(self._speak)

    # What faults use.

    def model_plays(
        self, person: Person, *items: ModelFault | Answer, for_good: ModelFault | Answer | None = None
    ) -> None:
        part = self._parts[person.lines[0].marker]
        part.once.extend(items)
        part.for_good = for_good or part.for_good

    def graph_meets(self, person: Person, *faults: GraphFault, reads: Sequence[GraphFault] = ()) -> None:
        """The next sends to this customer meet these, and the next look-ups of their conversation `reads`."""
        self.meta.fault_for(person.customer_id, *faults)
        self.meta.fault_for(person.customer_id, *reads, on="reads")

    def account_of(self, person: Person) -> Account:
        """One of the person's channel; the first one where the business has none."""
        accounts = self.meta.accounts
        return next((account for account in accounts if account.channel == person.channel), accounts[0])

    async def post(
        self, person: Person, line: Line, *, text: str | None = None, copies: int = 1, burst: int = 0, **more: Any
    ) -> Post:
        """A customer's message, `copies` times at once; returns when Meta has been answered or has given up."""
        words = line.text if text is None else text
        item = self.meta.text(person.customer_id, words, account=self.account_of(person), **more)
        return await self.send(person, item, marker=line.marker, copies=copies, burst=burst)

    async def send(
        self, person: Person, item: WebhookItem, *, marker: str = "", copies: int = 1, burst: int = 0
    ) -> Post:
        kind = "postback" if "postback" in item.item else "message"
        mid = str(item.item[kind]["mid"])
        post = Post(mid, key_of(kind, mid), marker, burst)
        self.customer_runs[person.customer_id].posts.append(post)
        answers = await asyncio.gather(*(self.meta.deliver(item, tries=WEBHOOK_TRIES) for _ in range(copies)))
        post.acknowledged = any(status == 200 for statuses in answers for status in statuses)
        return post

    async def notify(self, item: WebhookItem) -> None:
        """A webhook that is no message of a customer: an echo, a deletion."""
        await self.meta.deliver(item, tries=WEBHOOK_TRIES)

    # What the run starts.

    async def play(self, scenes: Sequence[Scene], *, started_at: float) -> None:
        """Until every customer has said their lines; `started_at` is on the loop's clock."""
        await asyncio.gather(
            *(self._perform(scene.fault, person, started_at) for scene in scenes for person in scene.people)
        )

    async def _perform(self, fault: Fault, person: Person, started_at: float) -> None:
        await asyncio.sleep(max(started_at + person.starts_at - asyncio.get_running_loop().time(), 0.0))
        self.customer_runs[person.customer_id] = CustomerRun(fault, person, self.account_of(person))
        part = _Part(person)
        for line in person.lines:
            self._parts[line.marker] = part
        if fault.prepare is not None:
            fault.prepare(self, person)
        # After the fault's own: what comes first in the queue is met first.
        if person.sends_seconds:
            self.graph_meets(person, *[GraphFault("slow", seconds=person.sends_seconds)] * 4)
        await (fault.write or write_plainly)(self, person)

    def _speak(self, request: ChatRequest) -> Response:
        """The model: says the customer's markers back, unless it has been told to fail for this customer."""
        markers = list(dict.fromkeys(MARKER.findall(request.customer)))
        part = self._parts.get(markers[0]) if markers else None
        if part is not None:
            item = part.once.popleft() if part.once else part.for_good
            if item is not None:
                return item.respond(request) if isinstance(item, ModelFault) else item.response(request)
            if part.person.searches and request.may_call_tools and request.messages[-1]["role"] != "tool":
                call = tool_call("search_knowledge", {"query": "кружка"}, call_id=f"call_{request.number}")
                return Answer(tool_calls=[call], finish_reason="tool_calls").response(request)
        delay = part.person.thinks_seconds if part is not None else 0.0
        return Answer(content=reply_with(markers), delay_seconds=delay).response(request)


def reply_with(markers: Sequence[str]) -> str:
    if not markers:
        return f"Спасибо, что написали! Расскажите, пожалуйста, что вам ближе?\n{TAGS}"
    about = " ".join(f"Про «{marker}» с радостью подскажу." for marker in markers)
    return f"Спасибо, что написали! {about} Что вам сейчас ближе?\n{TAGS}"


async def write_plainly(customers: Customers, person: Person) -> None:
    for number, burst in enumerate(person.bursts):
        await asyncio.sleep(burst.after_seconds)
        for line in burst.lines:
            await customers.post(person, line, burst=number)
            await asyncio.sleep(line.pause_seconds)
