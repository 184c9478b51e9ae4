"""Meta's refusals by number: from code and subcode to an error whose type says what may be done.

Meta localises the words of an error, so nothing here reads them. What the table does not know may have been accepted
all the same and counts as an unknown outcome.
"""

from collections.abc import Mapping
from typing import Any

from bot.errors import NeedsOperator, NightshiftError, OutcomeUnknown, Refused, Transient
from bot.retry import Failure


class GraphAPIError(NightshiftError):
    """Base of all that a call to Meta can end in; carries numbers for the log, never a payload or a token."""

    def __init__(
        self,
        message: str = "",
        status: int | None = None,
        code: int | None = None,
        subcode: int | None = None,
        fbtrace_id: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        # Exactly what __init__ takes, or the exception does not survive pickling between processes.
        Exception.__init__(self, message, status, code, subcode, fbtrace_id, retry_after_seconds)
        self.message = message
        self.status = status
        self.code = code
        self.subcode = subcode
        self.fbtrace_id = fbtrace_id
        self.retry_after_seconds = retry_after_seconds

    def __str__(self) -> str:
        parts = [self.message] if self.message else []
        if self.status is not None:
            parts.append(f"HTTP {self.status}")
        if self.code is not None:
            parts.append(f"code {self.code}" + (f"/{self.subcode}" if self.subcode is not None else ""))
        if self.fbtrace_id:
            parts.append(f"fbtrace_id {self.fbtrace_id}")
        return ", ".join(parts)


class GraphAPIUnavailable(GraphAPIError, Transient):
    """The request never left, or Meta turned it away for now: it did not happen."""


class Throttled(GraphAPIError, Transient):
    """Too many calls. Going on calling lengthens the block, so the account rests."""


class SendOutcomeUnknown(GraphAPIError, OutcomeUnknown):
    """The message may have arrived: only an echo or the Conversations API can tell."""


class PermissionInDoubt(SendOutcomeUnknown):
    """Code 1/99: an unknown error that most often is a missing permission; sure once it repeats."""


class TokenInvalid(GraphAPIError, NeedsOperator):
    """The token expired, was revoked, or is not set."""


class PermissionMissing(GraphAPIError, NeedsOperator):
    """The app lacks a permission, a feature, an access level, or the owner switched off access to messages."""


class AccountRestricted(GraphAPIError, NeedsOperator):
    """Meta restricts the account for policy, or it is not eligible at all."""


class RecipientGone(GraphAPIError, Refused):
    """This customer cannot receive our messages: blocked us, left, or is unknown to this account."""


class MessagingWindowClosed(GraphAPIError, Refused):
    """The customer wrote too long ago; only their next message opens the window again."""


class ThreadOwnedByAnother(GraphAPIError, Refused):
    """Another app, or Meta's own inbox or flow, holds the conversation."""


class BadContent(GraphAPIError, Refused):
    """Meta will never take this message as it is."""


class ObjectMissing(GraphAPIError, Refused):
    """The id in the path names nothing that this token can see."""


class ProfileUnavailable(GraphAPIError, Refused):
    """No profile of this customer for us; never a reason not to answer."""


class MessageUnreadable(GraphAPIError, Refused):
    """The message was deleted, or is older than the few that can be read back."""


# (code, subcode). None as the code: the number is met under several codes, or as a code by itself.
# None as the subcode: any subcode that has no line of its own.
TABLE: Mapping[tuple[int | None, int | None], type[GraphAPIError]] = {
    (1, None): SendOutcomeUnknown,
    (1, 99): PermissionInDoubt,
    (1, 1357046): SendOutcomeUnknown,
    (2, None): SendOutcomeUnknown,
    (2, 1545133): GraphAPIUnavailable,
    (2, 2018344): PermissionMissing,
    (3, None): PermissionMissing,
    (4, None): Throttled,
    (4, 1349210): Throttled,
    (4, 1349211): Throttled,
    (4, 1349212): Throttled,
    (17, None): Throttled,
    (32, None): Throttled,
    (9, 2018352): BadContent,
    (10, None): PermissionMissing,
    (10, 2018278): MessagingWindowClosed,
    (10, 2534022): MessagingWindowClosed,
    (10, 2018065): MessagingWindowClosed,
    (10, 2018108): RecipientGone,
    (10, 1893063): AccountRestricted,
    (10, 2534077): PermissionMissing,
    (10, 2018336): RecipientGone,
    (27, None): PermissionMissing,
    (100, None): BadContent,
    (100, 33): ObjectMissing,
    (100, 2018001): RecipientGone,
    (100, 2018008): BadContent,
    (100, 2018047): BadContent,
    (100, 2018294): BadContent,
    (100, 2018109): BadContent,
    (100, 2018074): BadContent,
    (100, 2018014): BadContent,
    (100, 2534013): PermissionMissing,
    (100, 2534014): RecipientGone,
    (100, 2534015): BadContent,
    (100, 2534025): BadContent,
    (100, 2534029): AccountRestricted,
    (100, 2534037): ThreadOwnedByAnother,
    (None, 2534001): RecipientGone,
    (102, None): TokenInvalid,
    (190, None): TokenInvalid,
    (200, None): PermissionMissing,
    (200, 1545041): RecipientGone,
    (551, None): RecipientGone,
    (551, 1545041): RecipientGone,
    (200, 2018028): PermissionMissing,
    (200, 2534041): PermissionMissing,
    (230, None): ProfileUnavailable,
    (341, None): Throttled,
    (368, None): AccountRestricted,
    (506, None): BadContent,
    (613, None): Throttled,
    (613, 2534040): Throttled,
    (613, 1996): Throttled,
    (613, 2018338): AccountRestricted,
    (1200, None): SendOutcomeUnknown,
    (-1, 2207001): SendOutcomeUnknown,
    (-2, 2207003): SendOutcomeUnknown,
    (-2, 2207020): SendOutcomeUnknown,
    (80001, None): Throttled,
    (80002, None): Throttled,
    (80006, None): Throttled,
    (None, 2018218): ProfileUnavailable,
    (None, 2018247): ProfileUnavailable,
    (None, 9010): ProfileUnavailable,
    (None, 2018300): ThreadOwnedByAnother,
    (None, 2018321): ThreadOwnedByAnother,
    (2022, None): AccountRestricted,
    (36103, None): AccountRestricted,
    (None, 9000001): MessageUnreadable,
    (None, 2018389): PermissionMissing,
}


def error_class(code: int | None, subcode: int | None) -> type[GraphAPIError]:
    """The leaf for these numbers; a subcode of 0 is none. Numbers we do not know: the outcome is unknown."""
    pairs = [(code, subcode), (None, subcode), (None, code), (code, None)] if subcode else [(None, code), (code, None)]
    for pair in pairs:
        if pair != (None, None) and pair in TABLE:
            return TABLE[pair]
    return SendOutcomeUnknown


def error_from_body(status: int, body: object, retry_after_seconds: float | None = None) -> GraphAPIError:
    """The error an answer means, whatever its HTTP status; `body` is the parsed JSON, or None."""
    error = body.get("error") if isinstance(body, Mapping) else None
    fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    code, subcode = _number(fields.get("code")), _number(fields.get("error_subcode"))
    # A bare 429 comes from the edge in front of Graph: nothing behind it has seen the request.
    kind = Throttled if code is None and status == 429 else error_class(code, subcode)
    trace = fields.get("fbtrace_id")
    return kind(
        "refused" if fields else "no usable answer",
        status,
        code,
        subcode or None,
        trace[:64] if isinstance(trace, str) else "",
        retry_after_seconds if issubclass(kind, Transient) else None,
    )


def failure_of(error: NightshiftError, *, attempt: int = 1) -> Failure:
    """What `bot.retry.plan_retry` is to know of an error; `attempt` counts from 1."""
    match error:
        case PermissionInDoubt():
            return Failure.UNKNOWN if attempt < 2 else Failure.PERMISSION
        case Throttled():
            return Failure.THROTTLED
        case TokenInvalid():
            return Failure.TOKEN
        case PermissionMissing():
            return Failure.PERMISSION
        case AccountRestricted():
            return Failure.RESTRICTED
        case RecipientGone():
            return Failure.RECIPIENT_GONE
        case MessagingWindowClosed():
            return Failure.WINDOW_CLOSED
        case ThreadOwnedByAnother():
            return Failure.OWNED_BY_ANOTHER
        case Transient():
            return Failure.TRANSIENT
        case NeedsOperator():
            return Failure.PERMISSION
        case Refused():
            return Failure.BAD_CONTENT
        case _:
            # An error of no known kind proves nothing, so it is settled like an unknown outcome.
            return Failure.UNKNOWN


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit() and len(value) < 20:
        return int(value)
    return None
