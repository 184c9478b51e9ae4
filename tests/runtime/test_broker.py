"""Handing pokes to Celery: with one client for a channel, also after its connections were dropped."""

from typing import Any

from runtime import queue
from runtime.embedded import EmbeddedValkey
from runtime.settings import Config, Environment, Settings


def waiting(channel: Any) -> int:
    return int(channel.queue_declare(queue.TURNS, durable=True, exclusive=False, auto_delete=False).message_count)


def test_a_channel_keeps_its_client_and_gets_another_when_its_connections_are_dropped(valkey: EmbeddedValkey) -> None:
    app = queue.make_celery(Settings(env=Environment(redis_url=valkey.url), config=Config()))
    with app.producer_pool.acquire(block=True) as producer:
        channel: Any = producer.channel
        before = waiting(channel)
        for number in range(3):
            app.send_task(queue.ANSWER, args=[f"c{number}"], producer=producer, retry=False)
        kept = channel._create_client()
        channel._disconnect_pools()
        app.send_task(queue.ANSWER, args=["c4"], producer=producer, retry=False)

        assert channel._create_client() is not kept
        assert channel._create_client() is channel._create_client()
        assert waiting(channel) == before + 4
        channel.queue_purge(queue.TURNS)
    app.close()
