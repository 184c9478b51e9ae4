"""What a call that did not succeed tells: refused, never left, throttled, or unknown."""

import asyncio
import time

import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import JSONResponse, Response

from clients.graph.api import GraphAPI
from clients.graph.errors import (
    AccountRestricted,
    BadContent,
    GraphAPIError,
    GraphAPIUnavailable,
    MessagingWindowClosed,
    ObjectMissing,
    PermissionMissing,
    RecipientGone,
    SendOutcomeUnknown,
    ThreadOwnedByAnother,
    Throttled,
    TokenInvalid,
)
from runtime.settings import Account
from sandbox.patience import PATIENCE_SECONDS
from sandbox.ports import reserved_port
from tests.clients.graph.calls import (
    CUSTOMER,
    FLAVOURS,
    INSTAGRAM,
    INSTAGRAM_ID,
    INSTAGRAM_LOGIN,
    MESSENGER,
    Meta,
    Recorder,
    environment,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("code", "subcode", "status", "expected"),
    [
        (10, 2534022, 403, MessagingWindowClosed),
        (190, 463, 400, TokenInvalid),
        (200, None, 403, PermissionMissing),
        (368, None, 400, AccountRestricted),
        (551, 1545041, 500, RecipientGone),
        (100, 2534037, 400, ThreadOwnedByAnother),
        (100, None, 400, BadContent),
        (2, 1545133, 503, GraphAPIUnavailable),
        (2, None, 503, SendOutcomeUnknown),
        (190, None, 200, TokenInvalid),
        (777, None, 400, SendOutcomeUnknown),
    ],
)
async def test_a_refusal_is_told_apart_by_its_numbers_whatever_the_status(
    meta: Meta, http: httpx.AsyncClient, code: int, subcode: int | None, status: int, expected: type[GraphAPIError]
) -> None:
    meta.sandbox.refuse_next(code, subcode, status)

    with pytest.raises(GraphAPIError) as caught:
        await GraphAPI(http, account=INSTAGRAM_LOGIN, env=meta.env).send_text(CUSTOMER, "Hi")

    assert type(caught.value) is expected
    assert (caught.value.status, caught.value.code, caught.value.subcode) == (status, code, subcode)
    assert caught.value.fbtrace_id == "AInventedTraceId0"
    assert meta.sandbox.sent == []


async def test_what_the_stand_in_refuses_by_itself(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.accounts = [INSTAGRAM]
    graph = GraphAPI(http, account=INSTAGRAM, env=meta.env)
    await graph.send_text(CUSTOMER, "ы" * 500)

    with pytest.raises(BadContent):
        await graph.send_text(CUSTOMER, "ы" * 501)
    with pytest.raises(RecipientGone):
        await graph.send_text(INSTAGRAM_ID, "to myself")
    stranger = INSTAGRAM.model_copy(update={"token": SecretStr("another")})
    with pytest.raises(TokenInvalid):
        await GraphAPI(http, account=stranger, env=meta.env).send_text(CUSTOMER, "Hi")
    lost = INSTAGRAM.model_copy(update={"page_id": "104400000000999"})
    with pytest.raises(ObjectMissing):
        await GraphAPI(http, account=lost, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_messenger_counts_utf_16_units(meta: Meta, http: httpx.AsyncClient) -> None:
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)
    meta.sandbox.accounts = [MESSENGER]
    await graph.send_text(CUSTOMER, "🚀" * 1000)

    with pytest.raises(BadContent):
        await graph.send_text(CUSTOMER, "🚀" * 1000 + "!")


@pytest.mark.parametrize("account", FLAVOURS)
async def test_a_closed_window_is_told_apart_from_other_refusals(
    meta: Meta, http: httpx.AsyncClient, account: Account
) -> None:
    meta.sandbox.accounts = [account]
    graph = GraphAPI(http, account=account, env=meta.env)
    meta.sandbox.close_window(CUSTOMER)

    with pytest.raises(MessagingWindowClosed):
        await graph.send_text(CUSTOMER, "Too late.")
    meta.sandbox.customer_wrote(CUSTOMER)
    await graph.send_text(CUSTOMER, "In time.")
    meta.sandbox.customer_wrote(CUSTOMER, time.time() - 24 * 3600 - 1)
    with pytest.raises(MessagingWindowClosed):
        await graph.send_text(CUSTOMER, "A second too late.")

    assert [sent["text"] for sent in meta.sandbox.sent] == ["In time."]


async def test_a_lost_answer_is_an_unknown_outcome(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.lose_answer_next()

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_a_dropped_request_looks_the_same_from_outside(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.drop_before_next()

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert meta.sandbox.sent == []


async def test_a_200_that_is_not_json_is_an_unknown_outcome(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.answer_garbage_next()

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_an_error_behind_which_the_message_arrived_is_unknown(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.refuse_next(1, 1357046, 500, delivered=True)

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"recipient_id": CUSTOMER}),
        JSONResponse({"message_id": ""}),
        JSONResponse({"message_id": " "}),
        JSONResponse({"message_id": None}),
        JSONResponse({"message_id": 5}),
        JSONResponse({"message_id": "m_1", "error": None}),
        JSONResponse(["m_1"]),
        JSONResponse({"message_id": "m_1"}, status_code=302, headers={"location": "/elsewhere"}),
        JSONResponse({"message_id": "m_1"}, status_code=500),
        Response(b"", status_code=204),
        Response(b"\xff\xfe"),
    ],
)
async def test_only_a_message_id_in_a_clean_2xx_is_success(
    recorder: Recorder, http: httpx.AsyncClient, answer: Response
) -> None:
    recorder.answer = answer

    with pytest.raises(SendOutcomeUnknown):
        await GraphAPI(http, account=MESSENGER, env=recorder.env).send_text(CUSTOMER, "Hi")

    assert len(recorder.requests) == 1


async def test_a_silent_server_is_given_up(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.hang_next(2 * PATIENCE_SECONDS)
    graph = GraphAPI(http, account=MESSENGER, env=meta.env, timeout_seconds=0.2)

    with pytest.raises(SendOutcomeUnknown):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await graph.send_text(CUSTOMER, "Hi")

    assert len(meta.sandbox.sent) == 1


async def test_a_refused_connection_never_left(http: httpx.AsyncClient) -> None:
    with reserved_port() as port:
        graph = GraphAPI(http, account=MESSENGER, env=environment(f"http://127.0.0.1:{port}"))

        with pytest.raises(GraphAPIUnavailable):
            await graph.send_text(CUSTOMER, "Hi")


async def test_an_address_that_is_none_never_left(http: httpx.AsyncClient) -> None:
    with pytest.raises(GraphAPIUnavailable):
        await GraphAPI(http, account=MESSENGER, env=environment("graph.example")).send_text(CUSTOMER, "Hi")


async def test_a_cancelled_send_stays_cancelled(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.hang_next(60)
    task = asyncio.create_task(GraphAPI(http, account=MESSENGER, env=meta.env).send_text(CUSTOMER, "Hi"))
    await asyncio.to_thread(meta.sandbox.wait_for_sent, 1)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_throttling_tells_how_long_to_rest(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.throttle_next(minutes=19)
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)

    with pytest.raises(Throttled) as caught:
        await graph.send_text(CUSTOMER, "Hi")

    assert caught.value.retry_after_seconds == 19 * 60


async def test_a_send_tells_how_full_the_allowance_is(meta: Meta, http: httpx.AsyncClient) -> None:
    graph = GraphAPI(http, account=MESSENGER, env=meta.env)

    meta.sandbox.set_usage(63)
    told = await graph.send_text(CUSTOMER, "Hi")
    meta.sandbox.set_usage(None)
    untold = await graph.send_text(CUSTOMER, "Hi again")

    assert (told.usage_percent, untold.usage_percent) == (63, 0)


async def test_a_failed_sign_of_life_is_transient_as_it_does_no_harm(meta: Meta, http: httpx.AsyncClient) -> None:
    meta.sandbox.lose_answer_next(on="actions")

    with pytest.raises(GraphAPIUnavailable):
        await GraphAPI(http, account=MESSENGER, env=meta.env).send_action(CUSTOMER, "typing_on")
