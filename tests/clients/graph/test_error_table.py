"""Each row of Meta's table, answered by the stand-in and read by the real client."""

from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from bot.errors import NeedsOperator, OutcomeUnknown, Refused, Transient
from bot.incoming.events import Channel
from bot.retry import Failure
from clients.graph.answers import Profile
from clients.graph.api import GraphAPI
from clients.graph.errors import (
    BadContent,
    GraphAPIError,
    GraphAPIUnavailable,
    MessageUnreadable,
    MessagingWindowClosed,
    ObjectMissing,
    RecipientGone,
    ThreadOwnedByAnother,
    Throttled,
    failure_of,
)
from runtime.settings import Account, Environment
from sandbox.meta.server import MetaSandbox
from sandbox.meta.table import BY_NAME, ROWS, Meaning, Row
from sandbox.server import SandboxServer
from tests.clients.graph.calls import read_back

pytestmark = pytest.mark.anyio

CUSTOMER = "9001000000000123"
ACCOUNT = Account(channel=Channel.MESSENGER, id="104400000000001", token=SecretStr("invented-token"))
KINDS: dict[Meaning, tuple[type[Exception], ...]] = {
    Meaning.RETRY: (GraphAPIUnavailable, Transient),
    Meaning.THROTTLED: (Throttled, Transient),
    Meaning.UNKNOWN: (OutcomeUnknown,),
    Meaning.OPERATOR: (NeedsOperator,),
    Meaning.RECIPIENT: (RecipientGone, Refused),
    Meaning.WINDOW: (MessagingWindowClosed, Refused),
    Meaning.OTHER_APP: (ThreadOwnedByAnother, Refused),
}
FAILURES = {
    Meaning.RETRY: {Failure.TRANSIENT},
    Meaning.THROTTLED: {Failure.THROTTLED},
    Meaning.UNKNOWN: {Failure.UNKNOWN},
    Meaning.OPERATOR: {Failure.TOKEN, Failure.PERMISSION, Failure.RESTRICTED},
    Meaning.RECIPIENT: {Failure.RECIPIENT_GONE},
    Meaning.CONTENT: {Failure.BAD_CONTENT},
    Meaning.WINDOW: {Failure.WINDOW_CLOSED},
    Meaning.OTHER_APP: {Failure.OWNED_BY_ANOTHER},
}
ON_SENDS = [row for row in ROWS if row.on == "messages"]


@pytest.fixture(scope="module")
def meta() -> MetaSandbox:
    return MetaSandbox([ACCOUNT])


@pytest.fixture(scope="module")
def server(meta: MetaSandbox) -> Iterator[SandboxServer]:
    with SandboxServer(meta.app) as running:
        yield running


@pytest.fixture
def graph(meta: MetaSandbox, server: SandboxServer, http: httpx.AsyncClient) -> GraphAPI:
    meta.reset()
    return GraphAPI(http, account=ACCOUNT, env=Environment(graph_api_url=server.url))


@pytest.mark.parametrize("row", ON_SENDS, ids=lambda row: row.name)
async def test_a_refused_send_is_what_the_table_says(meta: MetaSandbox, graph: GraphAPI, row: Row) -> None:
    meta.refuse_as(row.name)

    with pytest.raises(GraphAPIError) as caught:
        await graph.send_text(CUSTOMER, "Hi")

    assert (caught.value.code, caught.value.subcode) == (row.code, row.subcode)
    if row.meaning is Meaning.CONTENT:
        assert isinstance(caught.value, BadContent | ObjectMissing)
    else:
        assert all(isinstance(caught.value, kind) for kind in KINDS[row.meaning])
    assert failure_of(caught.value) in FAILURES[row.meaning]
    assert len(meta.sent) == row.delivered


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.meaning is Meaning.NO_PROFILE])
async def test_a_profile_refused_for_any_reason_is_empty(meta: MetaSandbox, graph: GraphAPI, name: str) -> None:
    meta.customer_wrote(CUSTOMER)
    meta.set_profile(CUSTOMER, name="Invented Name")
    row = BY_NAME[name]

    meta.refuse_profile(CUSTOMER, row.code, row.subcode)

    assert await graph.fetch_profile(CUSTOMER) == Profile()


async def test_a_message_past_reading_says_so(meta: MetaSandbox, graph: GraphAPI) -> None:
    meta.refuse_as("message_unreadable")

    with pytest.raises(MessageUnreadable):
        await read_back(graph)


def test_rows_have_names_of_their_own() -> None:
    assert len(BY_NAME) == len(ROWS)
    assert len({(row.code, row.subcode) for row in ROWS}) == len(ROWS)
