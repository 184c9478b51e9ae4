"""Was every promise kept? Each check is a pure function of the evidence."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from bot.outcome import Outcome
from rehearsal.customers import CustomerRun, Post
from rehearsal.evidence import Evidence
from rehearsal.workload import MARKER

LOST = "every message has an outcome"
ONE_OUTCOME = "a message has exactly one outcome"
EXPECTED_END = "the fault ends as it should"
NOT_SILENT = "the customer reads an answer"
NOT_TWICE = "nothing is said twice"
IN_TIME = "no message stays open too long"
TOLD = "the managers are told"
BALANCED = "the sums hold at every moment"
CLEAN = "nothing is left behind"

_READ_SLACK_SECONDS = 2.0
_TO_BE_TOLD = frozenset({Outcome.HANDED_OVER, Outcome.UNDELIVERABLE, Outcome.EXPIRED})


@dataclass(frozen=True, slots=True)
class Broken:
    """One promise broken; `conversation` and `mid` are empty when it concerns the system as a whole."""

    promise: str
    fault: str
    what: str
    conversation: str = ""
    mid: str = ""


def check(evidence: Evidence) -> list[Broken]:
    broken = [finding for customer in evidence.customer_runs for finding in _of(evidence, customer)]
    return [*broken, *_of_the_system(evidence)]


def _of(evidence: Evidence, customer: CustomerRun) -> Iterator[Broken]:
    for post in customer.posts:
        for promise, what in _of_message(evidence, customer, post):
            yield _broken(promise, customer, what, post)
    for what in _said_twice(evidence, customer):
        yield _broken(NOT_TWICE, customer, what)
    ends = {step.event for post in customer.posts for step in evidence.ends_of(customer, post)}
    if ends & _TO_BE_TOLD and not any(customer.conversation_id in text for text in evidence.alerts):
        yield _broken(TOLD, customer, f"{', '.join(sorted(ends & _TO_BE_TOLD))}, and no alert names it")
    if left := evidence.leftovers.get(customer.conversation_id):
        yield _broken(CLEAN, customer, left)


def _of_message(evidence: Evidence, customer: CustomerRun, post: Post) -> Iterator[tuple[str, str]]:
    steps = evidence.steps_of(customer, post)
    received = sum(step.event == "received" for step in steps)
    ends = evidence.ends_of(customer, post)
    if not post.acknowledged:
        yield LOST, "no try of its webhook was ever answered with 200"
    if received == 0:
        if post.acknowledged:
            yield LOST, "acknowledged with 200 and never stored"
        return
    if received > 1:
        yield ONE_OUTCOME, f"stored {received} times"
    if not ends:
        last = evidence.steps[customer.conversation_id][-1]
        yield LOST, f"still open; the last step was {last.event} {last.why}".strip()
        return
    if len(ends) > 1:
        yield ONE_OUTCOME, f"ended {len(ends)} times: {', '.join(step.event for step in ends)}"
    end = ends[0]
    if end.event not in customer.fault.ends:
        allowed = " or ".join(sorted(customer.fault.ends))
        yield EXPECTED_END, f"{end.event} ({end.why or 'no reason'}), not {allowed}"
    waited = evidence.waited_seconds(customer, post) or 0.0
    if waited > (limit := evidence.may_wait_seconds(customer)):
        yield IN_TIME, f"{waited:.0f} s open, {limit:.0f} s are the limit"
    if what := _silence(evidence, customer, post, end.event):
        yield NOT_SILENT, f"{end.event} ({end.why or 'no reason'}), but {what}"


def _silence(evidence: Evidence, customer: CustomerRun, post: Post, outcome: str) -> str:
    """Why an outcome that says "the customer was written to" is not true; "" when it is."""
    if outcome not in (Outcome.ANSWERED, Outcome.HANDED_OVER):
        return ""
    steps = evidence.steps_of(customer, post)
    stored = next(step.at_ms for step in steps if step.event == "received") / 1000
    closed = evidence.ends_of(customer, post)[0].at_ms / 1000
    words = [
        read
        for read in evidence.read_by(customer)
        if stored - _READ_SLACK_SECONDS <= read.at <= closed + _READ_SLACK_SECONDS
    ]
    if not words:
        return "no words reached the customer between the message and its outcome"
    expected = outcome == Outcome.ANSWERED and post.marker and customer.fault.own_words
    if expected and not any(post.marker in read.text for read in evidence.read_by(customer)):
        return "no answer speaks of it"
    return ""


def _said_twice(evidence: Evidence, customer: CustomerRun) -> Iterator[str]:
    read = evidence.read_by(customer)
    answers = Counter(marker for text in read for marker in set(MARKER.findall(text.text)))
    for marker, times in answers.items():
        if times > 1:
            yield f"answered {times} times: {marker}"
    bursts = len(customer.person.bursts)
    for text, times in Counter(item.text for item in read if not MARKER.search(item.text)).items():
        if times > bursts:
            yield f"said {times} times for {bursts} burst(s): {text[:40]!r}"
    if len(read) > len(customer.posts) and not customer.fault.parts:
        yield f"{len(read)} replies to {len(customer.posts)} message(s)"


def _of_the_system(evidence: Evidence) -> Iterator[Broken]:
    for sums in evidence.unbalanced[:3]:
        yield Broken(BALANCED, "", f"{sums.as_json()}")
    if not evidence.sums.balanced:
        yield Broken(BALANCED, "", f"at the end: {evidence.sums.as_json()}")
    stored = sum(
        step.event == "received"
        for customer in evidence.customer_runs
        for step in evidence.steps.get(customer.conversation_id, ())
    )
    if evidence.sums.received - evidence.received_before != stored:
        what = f"{evidence.sums.received - evidence.received_before} counted as received, {stored} in the ledger"
        yield Broken(BALANCED, "", what)
    if evidence.undelivered_alerts:
        yield Broken(TOLD, "", f"{evidence.undelivered_alerts} alert(s) never reached Telegram")
    conversations = {customer.conversation_id for customer in evidence.customer_runs}
    about_accounts = [text for text in evidence.alerts if not any(one in text for one in conversations)]
    for fault, account in sorted(
        {(p.fault.name, p.account.id) for p in evidence.customer_runs if p.fault.tells_account and p.person.place == 0}
    ):
        if not any(account in text for text in about_accounts):
            yield Broken(TOLD, fault, f"no alert about the account {account}")


def _broken(promise: str, customer: CustomerRun, what: str, post: Post | None = None) -> Broken:
    return Broken(promise, customer.fault.name, what, customer.conversation_id, post.mid if post else "")
