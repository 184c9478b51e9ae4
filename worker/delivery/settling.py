"""Did an unknown send arrive? Read the conversation back from Meta and look for the words (meta.md 8.1)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from bot.conversation import Conversation, Part
from bot.errors import NightshiftError, Transient
from clients.graph.api import GraphAPI
from runtime.logging import get_logger
from store.hashing import text_hash

log = get_logger(__name__)

LOOK_AGAIN_SECONDS = 10.0
LINE_SECONDS = 2.0  # waited for within the lease; a longer line is waited for in the schedule
FINISH_SECONDS = 20.0  # who has begun to read finishes, or would begin anew and make the line longer
CLOCK_SLACK_MS = 5_000  # created_time is exact to the second, and Meta's clock is not ours
SEND_TIMEOUT_MS = 10_000
MISSES_BEFORE_RESEND = 2
# Meta cannot be asked: after twenty seconds of this the customer has waited long enough, and a human looks.
FAILED_LOOK_WAITS = (5.0, 5.0, 6.0)


class Settlement(Enum):
    NOT_SENT = "not_sent"
    HOPELESS = "hopeless"


@dataclass(frozen=True, slots=True)
class Found:
    """It arrived, under this message id; its echo may still be on the way."""

    mid: str


@dataclass(frozen=True, slots=True)
class LookAgain:
    """`code` is kept with the part and counts the looks so far."""

    seconds: float
    code: str


class LineTooLong(Exception):
    """The account's reads wait in line, and this look has to wait for so many `seconds` more."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


async def look_up(
    graph: GraphAPI,
    conversation: Conversation,
    part: Part,
    *,
    stand_in_line: Callable[[float], Awaitable[None]],
    is_known: Callable[[str], Awaitable[bool]],
) -> Found | Settlement | LookAgain:
    """Not found twice, ten seconds apart and later than the send's own time limit: it was not sent.

    `stand_in_line` is awaited before each call with how long it may take, and may raise `LineTooLong`. `is_known` says
    whether a message id is in the books as sent from our side, be it by a human.
    """
    await stand_in_line(LINE_SECONDS)
    misses, failures = _looks(part.code)
    asked_ms = _asked_ms(conversation)
    since_ms = part.sending_at_ms - CLOCK_SLACK_MS
    try:
        recent = await graph.fetch_recent_messages(
            conversation.contact.customer_id,
            limit=10,
            since_ms=min(since_ms, asked_ms or since_ms),
            before_each=partial(stand_in_line, FINISH_SECONDS),
        )
    except NightshiftError as exc:
        log.warning("settling_blind", conversation=conversation.id, error=type(exc).__name__, reason=str(exc))
        if failures >= len(FAILED_LOOK_WAITS) or not isinstance(exc, Transient):
            return Settlement.HOPELESS
        return LookAgain(FAILED_LOOK_WAITS[failures], f"looks {misses} {failures + 1}")
    on_template = part.words != "" and not part.plain
    wanted = text_hash(part.words if on_template else part.text)
    for message in recent:
        ours = message.from_id != conversation.contact.customer_id
        fresh = not message.created_at_ms or message.created_at_ms >= since_ms
        # Our clock may be ahead of Meta's by any amount, but by Meta's own a reply is younger than what it answers.
        answers = not fresh and 0 < asked_ms <= message.created_at_ms and not await is_known(message.id)
        if not ours or not (fresh or answers):
            continue
        if text_hash(message.text) == wanted:
            return Found(message.id)
        # A template may be read back without its words. So is a picture, the last one of ours or a human's: only what
        # nobody has told us of yet can be it.
        if on_template and not message.text.strip() and not await is_known(message.id):
            return Found(message.id)
    if conversation.now_ms - part.sending_at_ms <= SEND_TIMEOUT_MS:
        return LookAgain(LOOK_AGAIN_SECONDS, f"looks {misses} {failures}")
    if misses + 1 >= MISSES_BEFORE_RESEND:
        return Settlement.NOT_SENT
    return LookAgain(LOOK_AGAIN_SECONDS, f"looks {misses + 1} {failures}")


def _asked_ms(conversation: Conversation) -> int:
    """When by Meta's clock, and to its second, the newest of the messages came that the plan answers; 0: unknown."""
    keys = conversation.plan.keys if conversation.plan else ()
    return max((message.at_ms for message in conversation.messages if message.key in keys), default=0) // 1000 * 1000


def _looks(code: str) -> tuple[int, int]:
    """Misses and failed looks so far."""
    words = code.split()
    return (int(words[1]), int(words[2])) if len(words) == 3 and words[0] == "looks" else (0, 0)
