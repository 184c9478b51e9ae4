"""The right to decide for one conversation: renew it, plan, begin a part, finish or give it back.

Every decision carries the claimer's token and raises `LeaseLost` when it is no longer theirs.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bot.alerts.alert import Alert
from bot.conversation import Conversation, Enclosure, HistoryLine, PlanMeta
from bot.errors import NightshiftError
from bot.outcome import Deferral, Outcome
from runtime.logging import get_logger
from store.accounts.pacing import RateLimit, slot_of
from store.accounts.parking import Parked
from store.limits import HISTORY_LINES
from store.outboxes.alerts import packed
from store.scripts import Scripts
from store.server.confirmation import CONFIRM_SECONDS
from store.turns.decisions import (
    AllTakenBack,
    AlreadyArrived,
    AlreadyIn,
    LeaseTooShort,
    MaySend,
    NewsCame,
    Overtaken,
    PlanAnswer,
    Planned,
    SendAnswer,
    Unconfirmed,
)
from store.turns.plans import packed_meta, part_fields, part_state_of
from store.turns.scratchpad import EMPTY_SCRATCHPAD, Scratchpad
from store.turns.views import View, kept_line, view_of

log = get_logger(__name__)

LEASE_SECONDS = 15.0
RENEW_SECONDS = 4.0
# Until a worker that does not have a conversation's account looks again: while one is alive that has it, and else.
ACCOUNT_SOON_SECONDS = 2.0
ACCOUNT_LATER_SECONDS = 30.0


class LeaseLost(NightshiftError):
    """Another turn, or a human, decides for this conversation now: stop, touch nothing."""


class OutcomeRefused(NightshiftError):
    """The books know better whether the customer has been told (finish.lua); nothing was written."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An alert raised in the same script that closes the messages; `id` is what makes two of them the same."""

    id: str
    alert: Alert


class Lease:
    """Lasts until it runs out or a human takes over."""

    def __init__(self, scripts: Scripts, view: View, token: str, *, quiet_ms: int, cap_ms: int) -> None:
        self._scripts = scripts
        self.conversation_id = view.conversation_id
        self.token = token
        self._revised = view.revised  # of the words that the turn has read last
        self._quiet_ms = quiet_ms
        self._cap_ms = cap_ms
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
        self._revised = view.revised
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
    ) -> PlanAnswer:
        """Write the plan, unless there is news that the turn has not read.

        `whatever_came`: messages that came since are no such news, they get a turn of their own. `whatever_changed`:
        nothing is; for a fixed line, which is made from no words of the customer's.
        """
        keys = [message.key for message in conversation.messages]
        answer = await self._scripts.run(
            "plan",
            self.conversation_id,
            self.token,
            conversation.rev,
            conversation.revised,
            "changed" if whatever_changed else "newer" if whatever_came else "",
            secrets.token_hex(6),
            packed_meta(meta),
            conversation.failed_turns,
            HISTORY_LINES,
            len(keys),
            *keys,
            *part_fields(texts, meta, enclosures),
        )
        match str(answer[0]):
            case "lost":
                raise LeaseLost("plan")
            case "nothing":
                return AllTakenBack(conversation)
            case "newer":
                return NewsCame(self._read(answer))
            case word:
                return _of_a_plan(word, self._read(answer))

    async def begin_part(
        self,
        plan_id: str,
        part: int,
        *,
        margin_seconds: float,
        limit: RateLimit | None = None,
        patience_seconds: float = 0,
    ) -> SendAnswer:
        """`MaySend` when the call may be made now. It has to end `margin_seconds` before the lease does.

        With a `limit` it takes a slot there first, if one is free within `patience_seconds`. Where the slot is not at
        once, it comes back, and once its time has come this is asked again without a limit.
        """
        if self._scripts.replicas:
            margin_seconds += 2 * CONFIRM_SECONDS
        margin, patience = round(margin_seconds * 1000), round(patience_seconds * 1000)
        mark = self._marks.get(self._account, "")
        slot = (limit.key, limit.calls, limit.span_us, patience, mark) if limit else ()
        answer, doubt = await self._scripts.run_doubted(
            "begin_part", self.conversation_id, self.token, plan_id, part, margin, *slot
        )
        match answer:
            case ["sending"]:
                return await self._unless_in_doubt(plan_id, part, await doubt)
            case ["parked", why, left_ms]:
                return Parked(str(why), int(left_ms) / 1000)
            case ["line", wait_us, taken]:
                return slot_of(wait_us, taken)
            case ["lost"]:
                raise LeaseLost("begin_part")
            case ["late"]:
                return LeaseTooShort()
            case ["gone"]:
                return Overtaken()
            case [state]:
                return AlreadyIn(part_state_of(state or ""))
            case _:
                raise AssertionError(f"begin_part.lua answers otherwise: {answer!r}")

    async def _unless_in_doubt(self, plan_id: str, part: int, reason: str) -> MaySend | Unconfirmed:
        if not reason:
            return MaySend()
        log.warning("send_not_confirmed", conversation=self.conversation_id, part=part, reason=reason)
        if not await self._scripts.run("take_back_part", self.conversation_id, self.token, plan_id, part):
            raise LeaseLost("take_back_part")
        return Unconfirmed()

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
            self._quiet_ms,
            self._cap_ms,
            round(takeover_seconds * 1000),
            HISTORY_LINES,
            orjson.dumps(dict(fields or {})).decode(),
            *_raised(incident),
            self._revised,
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
        closed = int(await self._scripts.run("abandon", self.conversation_id, self.token, why, *_raised(incident)))
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
            *_raised(alert),
            *_raised(window_closing),
            _acted_at(window_closing),
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
        scratchpad: Scratchpad = EMPTY_SCRATCHPAD,
    ) -> int:
        """Give the lease back and come again in `seconds`, earlier when the messaging window nears its end.

        `window_closing` tells the managers of just that, once for each window. An empty `scratchpad` leaves
        the one there is. Returns how many turns have ended in an exception so far.
        """
        answer = await self._scripts.run(
            "hold",
            self.conversation_id,
            self.token,
            round(seconds * 1000),
            str(reason),
            "1" if failed else "",
            "1" if drop_plan else "",
            *_raised(window_closing),
            scratchpad.text,
            _acted_at(window_closing),
            scratchpad.revised,
        )
        if int(answer) < 0:
            raise LeaseLost("hold")
        return int(answer)


def _of_a_plan(word: str, conversation: Conversation) -> Planned | AlreadyArrived:
    if conversation.plan is None:
        raise AssertionError(f"plan.lua answers otherwise: {word} without a plan")
    return (AlreadyArrived if word == "arrived" else Planned)(conversation, conversation.plan)


def _raised(incident: Incident | None) -> tuple[str, str]:
    """Its id and what is told, as the scripts take them."""
    return (incident.id, packed(incident.alert)) if incident else ("", "")


def _acted_at(window_closing: Incident | None) -> str:
    """The customer's last action, whose window it is."""
    return str(window_closing.alert.acted_at or "") if window_closing else ""
