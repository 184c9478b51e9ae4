"""What is looked up at Meta: profiles, and reads that fail."""

import httpx
import pytest

from clients.graph.answers import Profile
from clients.graph.api import GraphAPI
from clients.graph.errors import (
    GraphAPIUnavailable,
    TokenInvalid,
)
from runtime.settings import Account
from tests.clients.graph.calls import (
    CUSTOMER,
    INSTAGRAM,
    INSTAGRAM_LOGIN,
    MESSENGER,
    Meta,
    read_back,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("fault", "calls"),
    # aiohttp by itself repeats an idempotent request once when its connection is cut.
    [("lose_answer_next", 2), ("drop_before_next", 2), ("answer_garbage_next", 1)],
)
async def test_a_read_that_fails_can_simply_be_tried_again(
    meta: Meta, http: httpx.AsyncClient, fault: str, calls: int
) -> None:
    getattr(meta.sandbox, fault)(calls, on="reads")

    with pytest.raises(GraphAPIUnavailable):
        await read_back(GraphAPI(http, account=MESSENGER, env=meta.env))


@pytest.mark.parametrize(
    ("account", "fields", "expected"),
    [
        (INSTAGRAM, {"name": "Invented Name", "username": "invented"}, Profile("Invented Name", "invented")),
        (INSTAGRAM_LOGIN, {"username": "invented"}, Profile("", "invented")),
        (MESSENGER, {"first_name": "Invented", "last_name": "Name"}, Profile("Invented Name", "")),
        (MESSENGER, {"name": "Invented Name"}, Profile("Invented Name", "")),
        (MESSENGER, {}, Profile()),
    ],
)
async def test_a_profile_is_read_as_far_as_meta_tells_it(
    meta: Meta, http: httpx.AsyncClient, account: Account, fields: dict[str, str], expected: Profile
) -> None:
    meta.sandbox.accounts = [account]
    meta.sandbox.customer_wrote(CUSTOMER)
    meta.sandbox.set_profile(CUSTOMER, **fields)

    assert await GraphAPI(http, account=account, env=meta.env).fetch_profile(CUSTOMER) == expected


async def test_a_profile_meta_keeps_to_itself_is_empty(meta: Meta, http: httpx.AsyncClient) -> None:
    assert await GraphAPI(http, account=MESSENGER, env=meta.env).fetch_profile(CUSTOMER) == Profile()


async def test_a_dead_token_shows_in_a_profile_look_up_too(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.refuse_next(190, 463, on="reads")

    with pytest.raises(TokenInvalid):
        await GraphAPI(http, account=MESSENGER, env=meta.env).fetch_profile(CUSTOMER)
