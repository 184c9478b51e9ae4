"""Reads messages back from Meta within the account's limit and gives them to the inbox as if a webhook had come."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from bot.incoming.backfill import ReadBack
from bot.incoming.events import CustomerMessage, Echo
from clients.graph.api import GraphAPI
from clients.graph.errors import MessageUnreadable, ObjectMissing
from clients.graph.reading import GraphReading
from runtime.logging import get_logger
from runtime.settings import Account, Settings
from store.accounts.ids import AccountIdStore
from store.accounts.pacing import NoSlot, Pacing, Slot
from store.accounts.parking import Parked
from store.incoming.inbox import Inbox
from store.incoming.known_messages import Known, KnownMessages

log = get_logger(__name__)

# Why an account rests, where a read would fail as well, or make the rest longer (meta.md 6.1). For any other reason it
# may still read.
_FORBIDS_READING = ("throttled", "usage", "token")
_UNPACED_SECONDS = 0.5  # a parked account gets no slot


class MustNotRead(Exception):
    """The account's rate limit leaves no slot, or (`is_parked`) it rests, for so many `seconds`."""

    def __init__(self, seconds: float, *, is_parked: bool = False) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.is_parked = is_parked


class Reading:
    def __init__(
        self,
        *,
        settings: Settings,
        graph: Callable[[Account], GraphAPI],
        pacing: Pacing,
        inbox: Inbox,
        known: KnownMessages,
        ids: AccountIdStore,
        now_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._pacing = pacing
        self._inbox = inbox
        self._known = known
        self._ids = ids
        self.now_ms = now_ms
        self._readings: dict[str, tuple[GraphAPI, GraphReading]] = {}

    @property
    def settings(self) -> Settings:
        return self._settings

    def of(self, account: Account) -> GraphReading:
        """One for each client, which remembers what fields its account knows."""
        graph, name = self._graph(account), f"{account.channel} {account.id}"
        if self._readings.get(name, (None,))[0] is not graph:
            self._readings[name] = (graph, GraphReading(graph))
        return self._readings[name][1]

    async def our_ids(self, account: Account) -> frozenset[str]:
        """Every id under which Meta may name the account as a sender or recipient."""
        learned = (await self._ids.load()).get(account.id)
        ids = {account.id, account.user_id, account.page_id}
        return frozenset(filter(None, ids | ({learned.id, learned.user_id} if learned else set())))

    async def wait_for_slot(
        self, account: Account, *, patience_seconds: float, forbidden_by: Collection[str] = _FORBIDS_READING
    ) -> None:
        """Before each call. Raise `MustNotRead` when it would have to wait for longer, or the account rests for a
        reason of `forbidden_by`."""
        match await self._pacing.wait(account, "read", patience_seconds=patience_seconds):
            case Slot():
                return
            case NoSlot(seconds):
                raise MustNotRead(seconds)
            case Parked(reason, seconds_left) if reason in forbidden_by:
                raise MustNotRead(seconds_left, is_parked=True)
            case Parked():
                await asyncio.sleep(_UNPACED_SECONDS)

    async def known(self, conversation_id: str, messages: Sequence[ReadBack]) -> list[Known]:
        """What the books say of each."""
        named = [(message.mid, message.text, message.bare_kind) for message in messages]
        return await self._known.look(conversation_id, named)

    async def whole(self, account: Account, bare: ReadBack) -> ReadBack | None:
        """What Meta lists as an id only, read by itself; None when it is gone or too old to be given back."""
        try:
            found = await self.of(account).message(bare.mid, now_ms=self.now_ms())
        except (MessageUnreadable, ObjectMissing) as exc:
            log.debug("message_not_given_back", account_id=account.id, reason=str(exc))
            return None
        return found if found and not found.is_bare else None

    async def receive(self, events: Iterable[CustomerMessage | Echo]) -> None:
        """As what webhooks bring: what is known by now is dropped, by (kind, mid)."""
        await self._inbox.receive(list(events))
