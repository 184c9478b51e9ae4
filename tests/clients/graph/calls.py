"""What the tests of single calls share."""

from dataclasses import dataclass

from pydantic import SecretStr
from starlette.responses import Response

from bot.incoming.events import Channel
from clients.graph.api import GraphAPI
from clients.graph.reading import GraphReading, Thread
from runtime.clock import now_ms
from runtime.settings import Account, Environment
from sandbox.meta.server import MetaSandbox

CUSTOMER = "9001000000000123"
PAGE = "104400000000001"
INSTAGRAM_ID = "17841400000000042"
TOKEN = "invented-token"

MESSENGER = Account(channel=Channel.MESSENGER, id=PAGE, token=SecretStr(TOKEN))
INSTAGRAM = Account(channel=Channel.INSTAGRAM, id=INSTAGRAM_ID, page_id=PAGE, token=SecretStr(TOKEN))
INSTAGRAM_LOGIN = Account(
    channel=Channel.INSTAGRAM, id="17841400000000077", login="instagram", token=SecretStr("instagram-token")
)
FLAVOURS = [MESSENGER, INSTAGRAM, INSTAGRAM_LOGIN]


@dataclass
class Meta:
    sandbox: MetaSandbox
    env: Environment


@dataclass
class Recorder:
    """Answers everything as told, at first with a message id, and keeps what was asked."""

    requests: list[tuple[str, str, dict[str, str], bytes]]
    env: Environment
    answer: Response


def environment(graph: str, instagram: str | None = None) -> Environment:
    return Environment(graph_api_url=graph, instagram_api_url=graph if instagram is None else instagram)


async def read_back(graph: GraphAPI) -> Thread | None:
    """The conversation with `CUSTOMER`, as Meta keeps it."""
    return await GraphReading(graph).thread_with(CUSTOMER, now_ms=now_ms(), limit=5)
