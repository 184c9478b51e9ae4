"""Customers and Meta's webhooks do what no specification says: twice, backwards, far too much, or taken back."""

import asyncio
import time

from bot.outcome import Outcome
from rehearsal.customers import Customers
from rehearsal.faults.fault import ANSWERED, HANDED_OVER, Fault
from rehearsal.workload import Line, Person
from sandbox.meta import webhooks as meta_webhooks

_SILENCED = frozenset({Outcome.SILENCED})
_FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
_FLOOD = 230  # more than may wait unread in one conversation


async def _doubled(customers: Customers, person: Person) -> None:
    for line in person.lines:
        await customers.post(person, line, copies=5)


async def _repeated_later(customers: Customers, person: Person) -> None:
    """The same event again after it has been answered, as after a lost 200."""
    for line in person.lines:
        mid = meta_webhooks.new_mid(customers.account_of(person).channel)
        item = customers.meta.text(person.customer_id, line.text, account=customers.account_of(person), mid=mid)
        await customers.send(person, item, marker=line.marker)
        await asyncio.sleep(4)
        await customers.notify(item)


async def _reordered(customers: Customers, person: Person) -> None:
    now_ms = int(time.time() * 1000)
    for back, line in enumerate(reversed(person.lines)):
        await customers.post(person, line, at_ms=now_ms - back * 700)


async def _huge(customers: Customers, person: Person) -> None:
    for line in person.lines:
        await customers.post(person, line, text=f"{line.text} " + "и ещё одно слово о том же " * 3000)


async def _emoji(customers: Customers, person: Person) -> None:
    for line in person.lines:
        await customers.post(
            person, line, text=f"{_FAMILY * 150} {line.text} {'😻' * 200}\u202e\u0000 e{chr(0x301) * 300}"
        )


async def _burst(customers: Customers, person: Person) -> None:
    """All in one go, each a POST of its own."""
    await asyncio.gather(*(customers.post(person, line) for line in person.lines))


async def _flood(customers: Customers, person: Person) -> None:
    line = Line("ау!", "", 0.0)
    for _ in range(_FLOOD // 46):
        await asyncio.gather(*(customers.post(person, line) for _ in range(46)))


async def _photo(customers: Customers, person: Person) -> None:
    item = customers.meta.attachment(
        person.customer_id, account=customers.account_of(person), url="http://127.0.0.1:9/photo.jpg"
    )
    await customers.send(person, item)


async def _unsupported(customers: Customers, person: Person) -> None:
    item = customers.meta.text(
        person.customer_id, "", account=customers.account_of(person), extra={"is_unsupported": True}
    )
    await customers.send(person, item)


async def _postback(customers: Customers, person: Person) -> None:
    item = customers.meta.postback(
        person.customer_id, account=customers.account_of(person), title="Каталог", payload="MENU_CATALOGUE"
    )
    await customers.send(person, item)


async def _taken_back(customers: Customers, person: Person) -> None:
    account = customers.account_of(person)
    post = await customers.post(person, person.lines[0])
    deletion = meta_webhooks.message_item(
        account, person.customer_id, at_ms=int(time.time() * 1000), mid=post.mid, extra={"is_deleted": True}
    )
    await customers.notify(deletion)


async def _human_answers(customers: Customers, person: Person) -> None:
    """A manager is quicker than the bot, and says a second thing a little later."""
    for line in person.lines:
        await customers.post(person, line)
    account = customers.account_of(person)
    await customers.notify(customers.meta.human(person.customer_id, "Здравствуйте, это Мария", account=account))
    await asyncio.sleep(2)
    await customers.notify(customers.meta.human(person.customer_id, "Отвечу вам сама", account=account))


async def _asks_for_human(customers: Customers, person: Person) -> None:
    await customers.post(person, Line("Позовите оператора, пожалуйста", "", 0.0))


async def _too_late(customers: Customers, person: Person) -> None:
    two_days_ago = int((time.time() - 2 * 86400) * 1000)
    await customers.post(person, person.lines[0], at_ms=two_days_ago)


CUSTOMER_FAULTS = (
    Fault("webhook_doubled", "customer", "each webhook five times at once", write=_doubled),
    Fault(
        "webhook_repeated_later", "customer", "the same webhook again after the answer", write=_repeated_later, lines=1
    ),
    Fault("webhook_reordered", "customer", "the newest message first", write=_reordered, lines=3),
    Fault("text_huge", "customer", "a message of 80,000 characters", write=_huge, lines=1),
    Fault("text_emoji", "customer", "joined emoji, accents without end, a NUL", write=_emoji, lines=1),
    Fault("burst_of_twenty", "customer", "twenty messages at once", write=_burst, lines=20, parts=True),
    Fault("flood", "customer", f"{_FLOOD} messages at once", ANSWERED | _SILENCED, write=_flood),
    Fault("photo", "customer", "a photo without words", write=_photo),
    Fault("unsupported", "customer", "an attachment that cannot be opened", write=_unsupported),
    Fault("postback", "customer", "a tap instead of words", write=_postback),
    Fault("taken_back", "customer", "a message deleted at once", ANSWERED | _SILENCED, write=_taken_back, lines=1),
    Fault("human_answers", "customer", "a manager is quicker", ANSWERED | _SILENCED, write=_human_answers),
    Fault("asks_for_human", "customer", "an operator is asked for", HANDED_OVER, write=_asks_for_human),
    Fault("too_late", "customer", "a message two days old", frozenset({Outcome.EXPIRED}), write=_too_late),
)
