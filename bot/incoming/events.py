"""What Meta tells us, in our own words: the events a webhook is translated into."""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from bot.outcome import SilenceReason


class Channel(StrEnum):
    INSTAGRAM = "instagram"
    MESSENGER = "messenger"


@dataclass(frozen=True, slots=True)
class Contact:
    """One customer of one of our accounts; ids are scoped to the account, so all three parts are the key."""

    channel: Channel
    account_id: str
    customer_id: str

    @property
    def conversation_id(self) -> str:
        """Stands for the contact wherever people look: Flower, logs, alerts, the ledger, Redis keys."""
        return conversation_id(self.channel, self.account_id, self.customer_id)


def conversation_id(channel: str, account_id: str, customer_id: str) -> str:
    return sha256(f"{channel}:{account_id}:{customer_id}".encode()).hexdigest()[:16]


class MessageKind(StrEnum):
    MESSAGE = "message"
    POSTBACK = "postback"


class MediaKind(StrEnum):
    AUDIO = "audio"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Media:
    """Something that could be put into words; `note` is the place of its placeholder among the message's notes.

    `url` opens a customer's voice or picture to all who have it: it is never logged.
    """

    kind: MediaKind
    url: str = field(repr=False)
    note: int


@dataclass(frozen=True, slots=True)
class CustomerMessage:
    """Words (or a tap) of a customer; each one must end in exactly one outcome.

    `text` is what the customer wrote; `notes` are context lines for the model ("[photo]", "[reply to our story]"),
    one for each thing that is not text. `needs_text` marks what neither model nor tool can read (view-once and
    unsupported media): it is answered by a fixed line. `closed_as` is set where no answer is due from the start.
    `found` says on what occasion a message was read back from Meta that no webhook has brought; else it is "".
    """

    contact: Contact
    kind: MessageKind
    mid: str
    at_ms: int
    text: str = ""
    notes: tuple[str, ...] = ()
    needs_text: bool = False
    closed_as: SilenceReason | None = None
    # Not compared: the same message sent again carries addresses that were signed anew.
    media: tuple[Media, ...] = field(default=(), compare=False)
    found: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Echo:
    """Something sent from our own account: by us, by a human, or by another app (told apart by the inbox).

    `notes` name what is not text, as in a customer's message; `attached` are Meta's own words for its kinds; `found` as
    there. One that was read back comes late, and counts from when it was written.
    """

    contact: Contact
    mid: str
    at_ms: int
    text: str = ""
    app_id: str | None = None
    metadata: str | None = None
    notes: tuple[str, ...] = ()
    attached: tuple[str, ...] = field(default=(), compare=False)
    found: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """The customer changed the words of a message (`number` counts the edits, from 1)."""

    contact: Contact
    mid: str
    at_ms: int
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Deletion:
    """The customer took a message back."""

    contact: Contact
    mid: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class CustomerAction:
    """The customer did something that wants no reply, yet opens the messaging window: a reaction, a link of ours."""

    contact: Contact
    kind: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class ThreadControl:
    """Meta's routing gave the conversation to an app (`kind` is "pass" or "take").

    `owner_app_id` is who has it now, None when Meta does not say; whether that is us, the inbox knows.
    """

    contact: Contact
    kind: str
    at_ms: int
    owner_app_id: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyEnforcement:
    """Meta warns, blocks or unblocks the account; `reason` is Meta's own, missing in places."""

    channel: Channel
    account_id: str
    action: str
    at_ms: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A new comment under a post of ours, not by us. `customer_id` is its author."""

    channel: Channel
    account_id: str
    comment_id: str
    customer_id: str
    at_ms: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class UnreadMessage:
    """Meta has told of a new message without what is in it: it has to be read by its `mid`."""

    channel: Channel
    account_id: str
    mid: str
    at_ms: int
    customer_id: str = ""  # where Meta does tell


@dataclass(frozen=True, slots=True)
class Noted:
    """Accepted, counted under `kind`, and nothing else: reads, deliveries, unknown kinds or accounts.

    Two may have a sequel: a `comment` gets a private reply, where the configuration has words for it, and what is
    `unread` is read from Meta.
    """

    kind: str
    account_id: str = ""
    comment: Comment | None = field(default=None, compare=False)
    unread: UnreadMessage | None = field(default=None, compare=False)


Event = CustomerMessage | Echo | Edit | Deletion | CustomerAction | ThreadControl | PolicyEnforcement | Noted
