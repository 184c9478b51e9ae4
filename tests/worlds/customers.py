"""Who writes in a world, and whatever else its people do: all of it reaches the product as webhooks of Meta's."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.incoming.events import (
    Channel,
    Contact,
    CustomerAction,
    CustomerMessage,
    Deletion,
    Echo,
    Edit,
    Event,
    MessageKind,
    PolicyEnforcement,
    ThreadControl,
)
from store.hashing import key_of
from tests.worlds.course import Course
from tests.worlds.meta import Kept
from tests.worlds.product import ACCOUNTS, APP_ID

WORDS = ("Сколько стоит кружка?", "А доставка есть?", "Хочу заказать вазу", "Есть ли скидки?", "Добрый вечер!")
SPECIAL = ("Позовите человека", "Не пишите мне больше")
ANOTHER_APP = "263902037430900"


@dataclass
class Customer:
    """`written` are mids, `edits` how often each was changed."""

    contact: Contact
    written: list[str] = field(default_factory=list)
    edits: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.contact.conversation_id


class Customers:
    def __init__(self, course: Course) -> None:
        self._course = course
        self.to_write = course.weather.messages
        self.other_acts = course.weather.other_acts
        self._all: list[Customer] = []
        for number in range(course.weather.customers):
            account = course.chance.choice(ACCOUNTS)
            contact = Contact(Channel(account.channel), account.id, str(9_001_000_000_000_000 + number))
            self._all.append(Customer(contact))
            course.books.meet(contact)

    @property
    def written(self) -> list[tuple[str, str]]:
        """Conversation and key of each message."""
        return [(customer.name, key_of("message", mid)) for customer in self._all for mid in customer.written]

    def act(self) -> None:
        weather, customer = self._course.weather, self._course.chance.choice(self._all)
        acts: list[tuple[float, Callable[[Customer], Event | None]]] = []
        if self.other_acts:
            acts += [
                (weather.humans, self._human_writes),
                (0.15, self._acts_otherwise),
                (weather.policy, self._policy),
                (weather.failing, self._fails),
            ]
            if customer.written:
                acts += [(weather.edits, self._edits), (weather.deletions, self._takes_back)]
        if self.to_write:
            acts.append((3.0, self._writes))
        (act,) = self._course.chance.choices([act for _, act in acts], [weight for weight, _ in acts])
        if act != self._writes:
            self.other_acts -= 1
        if event := act(customer):
            self._course.tell_later(event)

    def _writes(self, customer: Customer) -> Event:
        self.to_write -= 1
        mid = f"m_{next(self._course.numbers)}"
        said = self._course.chance.choice(SPECIAL if self._course.chance.random() < 0.08 else WORDS)
        customer.written.append(mid)
        self._keep(customer, mid, customer.contact.customer_id, said)
        self._course.say(f"{customer.name} writes {mid}")
        return CustomerMessage(customer.contact, MessageKind.MESSAGE, mid, self._course.true_time, said)

    def _edits(self, customer: Customer) -> Event:
        mid = self._course.chance.choice(customer.written)
        number = customer.edits[mid] = customer.edits.get(mid, 0) + 1
        self._course.say(f"{customer.name} edits {mid}")
        words = f"{self._course.chance.choice(WORDS)} ({number})"
        return Edit(customer.contact, mid, self._course.true_time, words, number)

    def _takes_back(self, customer: Customer) -> Event:
        mid = self._course.chance.choice(customer.written)
        self._course.say(f"{customer.name} takes {mid} back")
        return Deletion(customer.contact, mid, self._course.true_time)

    def _human_writes(self, customer: Customer) -> Event:
        mid = f"m_human_{next(self._course.numbers)}"
        said = f"Это менеджер, пишу сам. {mid}"
        self._keep(customer, mid, customer.contact.account_id, said)
        self._course.say(f"a human writes to {customer.name}")
        return Echo(customer.contact, mid, self._course.true_time, said)

    def _keep(self, customer: Customer, mid: str, sender: str, said: str) -> None:
        kept = Kept(mid, sender, said, self._course.true_time, self._course.moment)
        self._course.meta.keep(customer.contact, kept)

    def _acts_otherwise(self, customer: Customer) -> Event:
        if self._course.chance.random() < 0.6:
            return CustomerAction(customer.contact, "reaction", self._course.true_time)
        owner = self._course.chance.choice((APP_ID, ANOTHER_APP))
        return ThreadControl(customer.contact, "pass", self._course.true_time, owner)

    def _policy(self, customer: Customer) -> Event:
        contact, action = customer.contact, self._course.chance.choice(("block", "unblock", "unblock"))
        return PolicyEnforcement(contact.channel, contact.account_id, action, self._course.true_time)

    def _fails(self, customer: Customer) -> None:
        """Its turns have failed again and again: the next one is its last."""
        if any(member.startswith(customer.name) for member in self._course.books.open):
            self._course.valkey.call("HSET", f"ns:c:{customer.name}", "failures", 9)
            self._course.say(f"the turns of {customer.name} have failed nine times")
