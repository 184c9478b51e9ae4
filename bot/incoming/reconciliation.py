"""Which messages of a conversation that was read back has no webhook brought, and what is to become of each?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.incoming.backfill import SECOND_MS, ReadBack
from bot.incoming.events import Contact, CustomerMessage, Echo
from bot.messaging_window import MayWrite, may_write
from bot.outcome import SilenceReason

YOUNG_MS: Final = 60_000  # its webhook, or the answer to our own send, may still be on the way
FOUND: Final = "reconcile"


@dataclass(frozen=True, slots=True)
class Seen:
    """A message that was read back, bare where the books know it; `ours`: the bot has sent it, or may have."""

    message: ReadBack
    from_account: bool
    known: bool
    ours: bool


def find_lost(
    seen: Sequence[Seen], contact: Contact, *, now_ms: int, since_ms: int, automatic_ms: int
) -> list[CustomerMessage | Echo]:
    """What the inbox should get, in order; nothing while a young message of our side cannot be told from a human's.

    `seen` are the messages, newest first, as Meta lists them; none older than `since_ms` is looked at. A customer's
    message that people have written after is theirs: it is closed as answered by them. What comes within
    `automatic_ms` after a customer's words is Meta's own automatic reply, not a colleague's.
    """
    recent = [one for one in reversed(seen) if one.message.created_at_ms >= since_ms]
    in_order = sorted(recent, key=lambda one: one.message.created_at_ms)
    said = [one.message.created_at_ms for one in in_order if not one.from_account]
    humans = [
        index
        for index, one in enumerate(in_order)
        if one.from_account and not one.ours and not is_automatic(one.message, said, within_ms=automatic_ms)
    ]
    if any(_is_young(in_order[index], now_ms) and not in_order[index].known for index in humans):
        return []
    last_human = humans[-1] if humans else -1
    lost: list[CustomerMessage | Echo] = []
    for index, one in enumerate(in_order):
        if one.known or one.ours or _is_young(one, now_ms):
            continue
        event = one.message.event(contact, now_ms=now_ms, found=FOUND)
        match event:
            case Echo():
                if index in humans:
                    lost.append(event)
            case CustomerMessage():
                if isinstance(may_write(last_action_at_ms=event.at_ms, now_ms=now_ms), MayWrite):
                    answered = index < last_human
                    lost.append(replace(event, closed_as=SilenceReason.HUMAN_ANSWERED) if answered else event)
    return lost


def is_automatic(message: ReadBack, said_ms: Sequence[int], *, within_ms: int) -> bool:
    """No human types right after the customer's words (`said_ms`): it is Meta's own instant reply or away message."""
    seconds_ms = [moment // SECOND_MS * SECOND_MS for moment in said_ms]
    return any(0 <= message.created_at_ms - moment < within_ms for moment in seconds_ms)


def _is_young(one: Seen, now_ms: int) -> bool:
    return now_ms - one.message.created_at_ms < YOUNG_MS
