"""What must hold in every world after every step, looked up in the store itself and at Meta's side of it.

Each rule raises `PromiseBroken` in words that say what happened; the world adds when.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bot.incoming.events import Contact
from bot.outcome import Outcome
from tests.worlds.edges import HTTPCall, StoreCall, Words
from tests.worlds.meta import contact_of
from tests.worlds.valkey import Texts, WorldValkey

OUTCOMES = frozenset(outcome.value for outcome in Outcome)
SAYS_TOLD = (Outcome.ANSWERED.value, Outcome.HANDED_OVER.value)
LOST = (["lost"], "lost", -1, 0)
KEPT = ("", ":inbox", ":seen", ":plan", ":history", ":sent", ":maybe")
"""Keys of a conversation that must not expire while a message of it is open."""
LEAST_LEASE_MS = 5_000
"""Left when a send begins: its margin (sending.py) less what the store's answer may take."""
LEASE_SANE_MS = 150_000  # as claim.lua: a lease that would last longer is damage, or a clock that has gone back


class PromiseBroken(AssertionError):
    """One of the rules below does not hold."""


@dataclass(frozen=True)
class Seen:
    """A conversation as it stands in the store."""

    fields: Mapping[str, str]
    inbox: Sequence[str]
    plan: Mapping[str, str]

    def holder(self) -> str:
        return self.fields.get("token", "") if self.fields.get("state") == "leased" else ""


@dataclass(frozen=True)
class Planned:
    conversation: str
    keys: frozenset[str]
    texts: Mapping[int, str]
    outcome: str


class Books:
    def __init__(self, valkey: WorldValkey, texts: Texts) -> None:
        self._valkey = valkey
        self._names = {digest: name for name, (digest, _) in texts.items()}
        self._customers: dict[str, Contact] = {}
        self._tokens: dict[str, str] = {}  # of leases: which turn was given it
        self._plans: dict[str, Planned] = {}
        self._outcomes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._received: Counter[tuple[str, str]] = Counter()
        self._arrived: Counter[tuple[str, str]] = Counter()  # conversation and words
        self._marked: Counter[str] = Counter()  # metadata, where the channel takes it
        self._read_to = "-"
        self.open: list[str] = []
        self.due: dict[str, float] = {}
        self.clock_jumped = False

    def name_of(self, words: Words) -> str:
        """What a call is called: its script's name, or the command."""
        plain = [word.decode() if isinstance(word, bytes) else str(word) for word in words[:2]]
        return self._names.get(plain[1], plain[1]) if plain[0] == "EVALSHA" else plain[0]

    def is_decision(self, call: StoreCall) -> bool:
        """Does it go with the token of a lease?"""
        return any(len(words) > 4 and str(words[4]) in self._tokens for words in call.calls)

    def meet(self, contact: Contact) -> None:
        self._customers[contact.conversation_id] = contact

    # What is asked before and after a call to the store.

    def ask(self, call: StoreCall, now: int, *, confirmed: int) -> list[Any]:
        """The answers; the first of them that is an error is raised."""
        answers = []
        for words in call.calls:
            if words[0] in ("WAIT", b"WAIT"):
                answers.append(confirmed)
            else:
                answers.append(self._watched(call, words, now))
        self.look()
        return answers

    def _watched(self, call: StoreCall, words: Words, now: int) -> Any:
        plain = [word.decode() if isinstance(word, bytes) else str(word) for word in words[:5]]
        name = self.name_of(words)
        cid, token = plain[3:5] if len(plain) == 5 else ("", "")
        if name == "claim":
            fields = self._see(cid).fields
            answer = self._valkey.at(now, *words)
            if answer[0] == "claimed":
                lease_ms = int(fields.get("lease_until", 0)) - now
                if fields.get("state") == "leased" and 0 < lease_ms <= LEASE_SANE_MS:
                    raise PromiseBroken(f"{call.turn} has taken a lease that another holds for {lease_ms} ms more")
                self._tokens[token] = call.turn
            return answer
        if token not in self._tokens:
            return self._valkey.at(now, *words)
        before = self._see(cid)
        answer = self._valkey.at(now, *words)
        if before.holder() == token:
            return answer
        if answer not in LOST:
            raise PromiseBroken(f"{name} of {call.turn}, which has lost its lease, was answered {str(answer)[:60]}")
        if self._see(cid) != before:
            raise PromiseBroken(f"{name} of {call.turn}, which has lost its lease, has changed the conversation")
        return answer

    def _see(self, cid: str) -> Seen:
        key = f"ns:c:{cid}"
        fields, inbox, plan = self._valkey.together(
            [("HGETALL", key), ("LRANGE", f"{key}:inbox", 0, -1), ("HGETALL", f"{key}:plan")]
        )
        return Seen(_mapping(fields), inbox, _mapping(plan))

    # What must hold whenever nothing is under way in the store.

    def look(self) -> None:
        ids = list(self._customers)
        calls: list[Words] = [
            ("ZRANGE", "ns:open", 0, -1),
            ("ZRANGE", "ns:due", 0, -1, "WITHSCORES"),
            ("HGETALL", "ns:count"),
            ("XRANGE", "ns:ledger", self._read_to, "+"),
            ("PTTL", "ns:open"),
            ("PTTL", "ns:due"),
        ]
        for cid in ids:
            key = f"ns:c:{cid}"
            calls += [("LRANGE", f"{key}:inbox", 0, -1), ("HGETALL", f"{key}:plan")]
            calls += [("PTTL", f"{key}{part}") for part in KEPT]
        opened, due, counts, ledger, open_ttl, due_ttl, *rest = self._valkey.together(calls)
        self.open, self.due = opened, dict(_pairs(due))
        width = 2 + len(KEPT)
        inboxes: dict[str, set[str]] = {}
        for index, cid in enumerate(ids):
            inbox, plan, *left = rest[index * width : (index + 1) * width]
            inboxes[cid] = {line.split(" ")[2] for line in inbox}
            self._note_plan(cid, _mapping(plan))
            is_open = any(member.startswith(f"{cid} ") for member in opened)
            if is_open and any(ms >= 0 for ms in (*left, open_ttl, due_ttl)):
                raise PromiseBroken(f"a key of {cid} would expire while a message is open: {left}")
            if (is_open or plan) and cid not in self.due:
                raise PromiseBroken(f"{cid} has something open and is not in the schedule")
        for member in opened:
            cid, key = member.split(" ")
            if key not in inboxes[cid]:
                raise PromiseBroken(f"{key} of {cid} is open, and its words are gone")
        self._read_ledger(ledger)
        self._balance(_mapping(counts), opened)

    def _note_plan(self, cid: str, plan: Mapping[str, str]) -> None:
        if not plan or plan.get("id", "") in self._plans:
            return
        texts = {i: plan[f"{i}:text"] for i in range(int(plan["n"]))}
        outcome = str(orjson.loads(plan["meta"])["outcome"])
        self._plans[plan["id"]] = Planned(cid, frozenset(plan["keys"].split()), texts, outcome)

    def _read_ledger(self, rows: Sequence[Any]) -> None:
        for row_id, flat in rows:
            self._read_to = f"({row_id}"
            fields = dict(zip(flat[::2], flat[1::2], strict=True))
            cid, key, event, why = (fields[name] for name in "cmew")
            if not key:
                continue
            if event == "received":
                self._received[cid, key] += 1
                if self._received[cid, key] > 1:
                    raise PromiseBroken(f"{key} of {cid} was stored twice")
            elif event in OUTCOMES:
                self._outcomes[cid, key].append(event)
                if len(self._outcomes[cid, key]) > 1:
                    raise PromiseBroken(f"{key} of {cid} has more than one outcome: {self._outcomes[cid, key]}")
                if event in SAYS_TOLD and not self._was_told(cid, key):
                    raise PromiseBroken(f"{key} of {cid} is booked as {event} ({why}), and no words have arrived")

    def _was_told(self, cid: str, key: str) -> bool:
        return any(
            self._arrived[cid, text]
            for plan in self._plans.values()
            if plan.conversation == cid and key in plan.keys
            for text in plan.texts.values()
        )

    def _balance(self, counts: Mapping[str, str], opened: Sequence[str]) -> None:
        still_open = {tuple(member.split(" ")) for member in opened}
        for message in self._received:
            outcomes = len(self._outcomes[message]) + (message in still_open)
            if outcomes != 1:
                raise PromiseBroken(f"{message} is {'open with an outcome' if outcomes else 'neither open nor ended'}")
        ended = sum(int(counts.get(outcome, 0)) for outcome in OUTCOMES)
        if int(counts.get("received", 0)) != ended + len(opened) or len(self._received) != ended + len(opened):
            raise PromiseBroken(f"the books do not balance: {counts}, {len(opened)} open")

    # What Meta sees.

    def leaves(self, call: HTTPCall, now: int) -> None:
        """A call to Meta or the model, the moment before it is made."""
        if not call.is_send or self.clock_jumped:
            return
        seen, text = self._see(contact_of(call).conversation_id), call.body["message"]["text"]
        if self._tokens.get(seen.holder()) != call.turn:
            raise PromiseBroken(f"{call.turn} sends without holding the lease")
        left_ms = int(seen.fields["lease_until"]) - now
        if left_ms < LEAST_LEASE_MS:
            raise PromiseBroken(f"{call.turn} sends with {left_ms} ms left of its lease")
        if not any(seen.plan[f"{i}:state"] == "sending" and seen.plan[f"{i}:text"] == text for i in _parts(seen.plan)):
            raise PromiseBroken(f"{call.turn} sends what is not written down as being sent: {text!r}")

    def arrives(self, call: HTTPCall) -> None:
        message, cid = call.body["message"], contact_of(call).conversation_id
        text, metadata = str(message["text"]), str(message.get("metadata", ""))
        self._arrived[cid, text] += 1
        self._marked[metadata] += 1
        planned = [plan for plan in self._plans.values() if plan.conversation == cid]
        may = sum(list(plan.texts.values()).count(text) for plan in planned)
        if self._arrived[cid, text] > may or (metadata and self._marked[metadata] > 1):
            raise PromiseBroken(f"{cid} has got the same part twice: {text[:60]!r}")
        answers = [plan for plan in planned if plan.outcome == Outcome.ANSWERED]
        for plan in answers:
            if text not in plan.texts.values():
                continue
            for other in answers:
                both = plan.keys & other.keys
                differ = other is not plan and not set(other.texts.values()) & set(plan.texts.values())
                if both and differ and any(self._arrived[cid, words] for words in other.texts.values()):
                    raise PromiseBroken(f"{both} of {cid} was answered twice: {text[:60]!r}")

    # At the end of a world.

    def close(self, written: Sequence[tuple[str, str]]) -> None:
        for message in written:
            if self._received[message] != 1 or len(self._outcomes[message]) != 1:
                raise PromiseBroken(f"{message} was written, and is nowhere: {self._outcomes[message]}")
        if self.open or self.due:
            raise PromiseBroken(f"left behind: {self.open}, {self.due}")

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(outcome for outcomes in self._outcomes.values() for outcome in outcomes)


def _mapping(answer: Any) -> Mapping[str, str]:
    """RESP2 answers flat, RESP3 with a mapping."""
    return answer if isinstance(answer, dict) else dict(zip(answer[::2], answer[1::2], strict=True))


def _pairs(rows: Sequence[Any]) -> list[tuple[str, float]]:
    if rows and isinstance(rows[0], list):
        return [(str(member), float(score)) for member, score in rows]
    return [(str(member), float(score)) for member, score in zip(rows[::2], rows[1::2], strict=True)]


def _parts(plan: Mapping[str, str]) -> range:
    return range(int(plan.get("n", 0)))
