"""A voice message is read by the port that the configuration names, and is a placeholder where that fails."""

from collections.abc import Iterator

import httpx
import pytest
import redis

from sandbox.model.faults import TAGS
from sandbox.stack import Stack, new_customer
from tests.end_to_end.people import Customer, all_closed

VOICE = "https://cdn.example.invalid/voice.m4a?sig=secret"


class Ears:
    """Hears the same in every voice message but one that it cannot open."""

    async def transcribe(self, url: str) -> str:
        if "broken" in url:
            raise RuntimeError(url)
        return "Сколько стоит кружка «Туман»?"


def ears(_: httpx.AsyncClient) -> Ears:
    return Ears()


@pytest.fixture(scope="module")
def hearing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    more = '[media]\ntranscriber = "tests.end_to_end.test_media:ears"\n'
    with Stack(tmp_path_factory.mktemp("media"), budget=12, more=more) as stack:
        yield stack


def test_the_model_reads_what_was_said(hearing: Stack) -> None:
    customer = Customer(hearing, new_customer())
    hearing.model.play_for_good(f"Кружка «Туман» стоит 1900 рублей.\n{TAGS}")

    customer.sends(hearing.meta.attachment(customer.id, kind="audio", url=VOICE))
    customer.waits_for(1)

    asked = hearing.model.requests[-1]["messages"][-1]["content"]
    assert asked == "[voice message, transcribed: Сколько стоит кружка «Туман»?]"
    customer.writes("А синяя?")
    customer.waits_for(2)
    said = [m["content"] for m in hearing.model.requests[-1]["messages"]]
    assert asked in said, "and remembers it"
    all_closed(hearing)
    logs = "".join(hearing.log_tail(name, 10_000) for name in hearing.running)
    assert "sig=secret" not in logs + str(hearing.model.requests)
    with redis.Redis.from_url(hearing.valkey.url, decode_responses=True) as client:
        assert not list(client.scan_iter("ns:c:*:inbox")), "the address goes with the message's outcome"


def test_what_cannot_be_heard_stays_a_placeholder(hearing: Stack) -> None:
    customer = Customer(hearing, new_customer())
    hearing.model.play_for_good(f"Извините, не могу прослушать. Напишите, пожалуйста, словами?\n{TAGS}")

    customer.sends(hearing.meta.attachment(customer.id, kind="audio", url=f"{VOICE}&broken"))

    customer.waits_for(1)
    assert hearing.model.requests[-1]["messages"][-1]["content"] == "[voice message]"
    assert "sig=secret" not in hearing.log_tail("worker", 10_000)
