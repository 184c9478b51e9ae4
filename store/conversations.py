"""The worker's side of Redis: claim a conversation, renew, plan, send part by part, finish or give back.

Decisions carry the claimer's token and raise `LeaseLost` when it is no longer theirs; facts never do.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from bot.conversation import Conversation, Enclosure, HistoryLine, PartState, PlanMeta
from bot.errors import NightshiftError
from bot.outcome import Deferral, Outcome
from runtime.logging import get_logger
from runtime.settings import Settings
from store.accounts.pacing import Place
from store.accounts.parking import Parked, token_mark
from store.hashing import key_of, text_hash
from store.keys import CLOCK_AHEAD, EVENTS, conversation_key
from store.limits import HISTORY_LINES
from store.plans import further_fields
from store.scripts import Scripts
from store.server.confirmation import CONFIRM_SECONDS
from store.views import View, kept_line, view_of

log = get_logger(__name__)

LEASE_SECONDS = 15.0
RENEW_SECONDS = 4.0
# So long no process may have had an account before what came for it is given up: more than any update takes.
ACCOUNT_MISSING_SECONDS = 3600.0
# Until a worker that does not have a conversation's account looks again: while one is alive that has it, and else.
ACCOUNT_SOON_SECONDS = 2.0
ACCOUNT_LATER_SECONDS = 30.0


class LeaseLost(NightshiftError):
    """Somebody else decides for this conversation now: stop, touch nothing."""


class OutcomeRefused(NightshiftError):
    """The books know better whether the customer has been told (finish.lua); nothing was written."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An alert raised in the same script that closes the messages; `id` is what makes two of them the same."""

    id: str
    body: Mapping[str, Any]


class Conversations:
    def __init__(self, scripts: Scripts, settings: Settings) -> None:
        self._scripts = scripts
        debounce = settings.config.debounce
        self._quiet = round(debounce.quiet_seconds * 1000)
        self._cap = round(debounce.max_wait_seconds * 1000)
        self._marks = {(a.channel.value, a.id): token_mark(a) for a in settings.config.accounts}

    async def claim(self, conversation_id: str) -> "tuple[Lease, Conversation] | str":
        """The lease and all that the turn needs; or the reason why there is nothing to do.

        Raise `ConversationUnreadable`; whoever has to get on with it all the same takes.
        """
        taken = await self.take(conversation_id)
        return taken if isinstance(taken, str) else (taken[0], taken[1].read())

    async def take(self, conversation_id: str) -> "tuple[Lease, View] | str":
        """As `claim`, with nothing parsed yet."""
        token = secrets.token_hex(8)
        answer = await self._scripts.run("claim", conversation_id, token, LEASE_SECONDS * 1000, HISTORY_LINES)
        if answer[0] != "claimed":
            return str(answer[0])
        self._scripts.clock.tells(int(answer[1]))
        view = view_of(conversation_id, answer, self._marks)
        return Lease(self._scripts, view, token, self._quiet, self._cap), view

    async def clock_ahead_ms(self) -> int:
        """By how much the server's clock may be ahead of the true time (store/server/clock_watch.py); most often 0."""
        return int(await self._scripts.command("GET", CLOCK_AHEAD) or 0)

    async def customer_of(self, conversation_id: str) -> str:
        """The scoped id behind a conversation; "" when it is not kept any more."""
        return str(await self._scripts.command("HGET", conversation_key(conversation_id), "customer") or "")

    async def knows_as_sent(self, conversation_id: str, mid: str) -> bool:
        """Is this message id in the books as sent from our side, by the bot or by a human?"""
        words = await self._scripts.run("known", conversation_id, "", "", key_of("echo", mid), "")
        return str(words[0]) != ""

    async def record(
        self, conversation_id: str, plan_id: str, part: int, state: PartState, *, mid: str = "", code: str = ""
    ) -> str:
        """A fact: it needs no lease, and a message id once known is never taken back.

        Where replicas are asked for, that a part is sent waits for them but does not depend on them: a failover that
        forgot it would find the part `sending`, and look whether it arrived.
        """
        key = key_of("echo", mid) if mid else ""
        values = (conversation_id, plan_id, part, state.value, key, code)
        if state is not PartState.SENT:
            return str(await self._scripts.run("record_part", *values))
        stands, doubt = await self._scripts.run_doubted("record_part", *values)
        if reason := await doubt:
            log.warning("fact_not_confirmed", conversation=conversation_id, part=part, reason=reason)
            await self._scripts.command("HINCRBY", EVENTS, "sent_unconfirmed", 1)
        return str(stands)


class Lease:
    """The right to decide for one conversation, until it runs out or somebody human takes over."""

    def __init__(self, scripts: Scripts, view: View, token: str, quiet_ms: int, cap_ms: int) -> None:
        self._scripts = scripts
        self.conversation_id = view.conversation_id
        self.token = token
        self.notebook = ""  # what was looked up so far: kept when the turn is given back unfinished
        self.revised = view.revised  # of the words that the turn has read last
        self._quiet = quiet_ms
        self._cap = cap_ms
        self._marks = view.marks  # of the accounts' tokens, as store/accounts/parking.py has them
        self._account = view.account

    async def renew(self) -> bool:
        return bool(await self._scripts.run("renew", self.conversation_id, self.token, LEASE_SECONDS * 1000))

    async def reread(self) -> Conversation:
        answer = await self._scripts.run("reread", self.conversation_id, self.token, HISTORY_LINES)
        if answer[0] == "lost":
            raise LeaseLost("reread")
        return self._read(answer)

    def _read(self, answer: Sequence[Any]) -> Conversation:
        view = view_of(self.conversation_id, answer, self._marks)
        if view.revised != self.revised:  # and what was looked up for words that are not what they were goes
            self.revised, self.notebook = view.revised, ""
        return view.read()

    async def plan(
        self,
        conversation: Conversation,
        texts: Sequence[str],
        meta: PlanMeta,
        *,
        enclosures: Sequence[Enclosure] = (),
        whatever_came: bool = False,
        whatever_changed: bool = False,
    ) -> tuple[str, Conversation]:
        """Write the plan, and read the conversation as it is then: "planned", "newer" when there is news that the turn
        has not read, "nothing" when all messages were taken back, "arrived" when a part of the plan that stands has
        proved to be sent meanwhile: it is finished, not replaced.

        `whatever_came`: messages that came since are no such news, they get a turn of their own. `whatever_changed`:
        nothing is; for a fixed line, which is made from no words of the customer's.
        """
        keys = [message.key for message in conversation.messages]
        parts = [value for text in texts for value in (text, text_hash(text))]
        answer = await self._scripts.run(
            "plan",
            self.conversation_id,
            self.token,
            conversation.rev,
            conversation.revised,
            "changed" if whatever_changed else "newer" if whatever_came else "",
            secrets.token_hex(6),
            orjson.dumps(asdict(meta)).decode(),
            conversation.failed_turns,
            HISTORY_LINES,
            len(keys),
            *keys,
            len(texts),
            *parts,
            *further_fields(texts, meta, enclosures),
        )
        match str(answer[0]):
            case "lost":
                raise LeaseLost("plan")
            case "nothing":
                return "nothing", conversation
            case word:
                return word, self._read(answer)

    async def begin_part(
        self,
        plan_id: str,
        part: int,
        *,
        margin_seconds: float,
        line: tuple[str, int, int] | None = None,
        patience_seconds: float = 0,
    ) -> str | Place | Parked:
        """ "sending" when the call may be made now; else the state that forbids it ("late": renew first).

        With a `line` of `store.accounts.pacing` it takes a place there first: where that is not at the front, the place
        comes back, and once its time has come this is asked again without a line.

        "unconfirmed": too few replicas know of it, and a failover would have the part sent once more. It is as before.
        """
        if self._scripts.replicas:
            margin_seconds += 2 * CONFIRM_SECONDS
        margin, patience = round(margin_seconds * 1000), round(patience_seconds * 1000)
        place = (*line, patience, self._marks.get(self._account, "")) if line else ()
        answer, doubt = await self._scripts.run_doubted(
            "begin_part", self.conversation_id, self.token, plan_id, part, margin, *place
        )
        if answer == [PartState.SENDING] and (reason := await doubt):
            log.warning("send_not_confirmed", conversation=self.conversation_id, part=part, reason=reason)
            if not await self._scripts.run("take_back_part", self.conversation_id, self.token, plan_id, part):
                raise LeaseLost("take_back_part")
            return "unconfirmed"
        match answer:
            case ["lost"]:
                raise LeaseLost("begin_part")
            case ["parked", why, left]:
                return Parked(str(why), int(left) / 1000)
            case ["line", wait, taken]:
                return Place(int(wait) / 1_000_000, bool(int(taken)))
            case [word]:
                return str(word)
            case _:
                raise AssertionError(f"begin_part.lua answers otherwise: {answer!r}")

    async def finish(
        self,
        outcome: Outcome,
        keys: Sequence[str],
        *,
        why: str = "",
        lines: Sequence[HistoryLine] = (),
        fields: Mapping[str, str] | None = None,
        incident: Incident | None = None,
        takeover_seconds: float = 0,
    ) -> None:
        """Close the messages, write history and alert, release the lease: all or nothing.

        Raise `OutcomeRefused` for an outcome that says the customer was told, or was not, when the books know better.
        """
        answer = await self._scripts.run(
            "finish",
            self.conversation_id,
            self.token,
            outcome.value,
            why,
            self._quiet,
            self._cap,
            round(takeover_seconds * 1000),
            HISTORY_LINES,
            orjson.dumps(dict(fields or {})).decode(),
            incident.id if incident else "",
            orjson.dumps(dict(incident.body)).decode() if incident else "",
            self.revised,
            len(keys),
            *keys,
            *(value for line in lines for value in kept_line(line)),
        )
        if answer == "lost":
            raise LeaseLost("finish")
        if answer != "finished":
            raise OutcomeRefused(f"{outcome.value}: {answer}")

    async def abandon(self, why: str, incident: Incident) -> int:
        """Close all that is open by its keys alone: no turn comes to the end of it. How many messages were closed."""
        body = orjson.dumps(dict(incident.body)).decode()
        closed = int(await self._scripts.run("abandon", self.conversation_id, self.token, why, incident.id, body))
        if closed < 0:
            raise LeaseLost("abandon")
        return closed

    async def hold_for_account(
        self, alert: Incident, *, closes_after_seconds: float, window_closing: Incident | None = None
    ) -> bool:
        """This process does not have the account: another one may come. `alert` is raised once.

        False, and the lease is kept, when no process has had it for `closes_after_seconds` (0: it waits on and on).
        """
        answer = await self._scripts.run(
            "hold_for_account",
            self.conversation_id,
            self.token,
            round(closes_after_seconds * 1000),
            round(ACCOUNT_SOON_SECONDS * 1000),
            round(ACCOUNT_LATER_SECONDS * 1000),
            alert.id,
            orjson.dumps(dict(alert.body)).decode(),
            window_closing.id if window_closing else "",
            orjson.dumps(dict(window_closing.body)).decode() if window_closing else "",
            str(window_closing.body.get("acted_at", "")) if window_closing else "",
        )
        if answer == "lost":
            raise LeaseLost("hold_for_account")
        return str(answer) == "held"

    async def hold(
        self,
        seconds: float,
        reason: Deferral | str,
        *,
        failed: bool = False,
        drop_plan: bool = False,
        window_closing: Incident | None = None,
    ) -> int:
        """Give the lease back and come again in `seconds`, earlier when the messaging window nears its end.

        `window_closing` tells the managers of just that, once for each window. Returns how many turns have ended in
        an exception so far.
        """
        answer = await self._scripts.run(
            "hold",
            self.conversation_id,
            self.token,
            round(seconds * 1000),
            str(reason),
            "1" if failed else "",
            "1" if drop_plan else "",
            window_closing.id if window_closing else "",
            orjson.dumps(dict(window_closing.body)).decode() if window_closing else "",
            self.notebook,
            str(window_closing.body.get("acted_at", "")) if window_closing else "",
            self.revised,
        )
        if int(answer) < 0:
            raise LeaseLost("hold")
        return int(answer)
