"""What a turn works with, built once per process on its event loop, and closed in the reverse order."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from clients.graph.api import GraphAPI
from clients.http import make_http_client
from clients.llm.client import LLMClient
from runtime import clock
from runtime.background import Background
from runtime.files.prompts import PromptSet
from runtime.settings import Account, Settings
from store.accounts.ids import AccountIdStore
from store.accounts.marks import Marks
from store.accounts.pacing import Pacing
from store.accounts.parking import Parking
from store.connection import connect
from store.failure_counts import count_in
from store.health import SystemHealth
from store.incoming.inbox import Inbox
from store.incoming.known_messages import KnownMessages
from store.outboxes.alerts import AlertOutbox
from store.outboxes.comments import CommentOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from store.server.replicas import tell_replicas
from store.spending import Spending
from store.turns.conversations import Conversations
from worker.account_ids import AccountIdsLearner
from worker.agent.agent import Agent
from worker.agent.cost_cap import Prices
from worker.agent.generations import Generations
from worker.agent.media import MediaReader
from worker.agent.model_catalogue import look_at_models
from worker.agent.model_notes import ModelNotes
from worker.agent.telemetry import Telemetry
from worker.alerts.alert_words import AlertWords
from worker.backfill.reading import Reading
from worker.backfill.reconciliation import Reconciler
from worker.backfill.unread_messages import UnreadReader
from worker.comments.private_replies import PrivateReplies
from worker.gate import TurnGate
from worker.graph_clients import SEND_SECONDS, GraphClients
from worker.texts import AgentKey, Texts, agent_key_of

if TYPE_CHECKING:
    import httpx

    from clients.telegram.client import TelegramAlerts


@dataclass(slots=True)
class Services:
    """What the tasks of one process share. A task hands on what is needed, never the whole (worker/assembly.py)."""

    settings: Settings
    conversations: Conversations
    parking: Parking
    outbox: AlertOutbox
    telemetry: Telemetry
    health: SystemHealth
    pacing: Pacing
    words: AlertWords
    media: MediaReader
    reading: Reading
    reconciler: Reconciler
    background: Background
    telegram: "TelegramAlerts | None"
    http: "httpx.AsyncClient"
    graph_clients: GraphClients
    gate: TurnGate
    now_ms: Callable[[], int]
    monotonic: Callable[[], float]
    agents: Mapping[AgentKey, Agent]
    prompt_sets: Mapping[AgentKey, PromptSet]
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def graph(self, account: Account, *, patience_seconds: float = SEND_SECONDS) -> GraphAPI:
        return self.graph_clients.of(account, patience_seconds=patience_seconds)

    def agent(self, account: Account) -> Agent:
        return self.agents[agent_key_of(self.settings, account)]

    def prompts(self, account: Account) -> PromptSet:
        return self.prompt_sets[agent_key_of(self.settings, account)]

    async def aclose(self) -> None:
        await self._stack.aclose()


async def build_services(settings: Settings, texts: Texts) -> Services:
    """On the running loop: clients made on one loop break on another."""
    stack = AsyncExitStack()
    redis = connect(
        settings.env.redis_url,
        max_connections=64,
        timeout_seconds=5,
        pool_wait_seconds=5,
        client_name="nightshift-worker",
    )
    stack.push_async_callback(redis.aclose)
    http = await stack.enter_async_context(make_http_client())
    scripts = Scripts(redis)
    background = Background(count=count_in(scripts))
    stack.push_async_callback(background.aclose)
    count = background.count
    # For what leaves the services. All else is forgotten as a whole, should it be, and done again.
    confirmed = Scripts(redis, replicas=settings.config.store.replicas)
    env, model = settings.env, settings.config.model
    telegram = None
    if env.telegram_bot_token.get_secret_value() and env.telegram_chat_id:
        from clients.telegram.client import TelegramAlerts  # noqa: PLC0415 - 8 MB and 40 ms that only alerts by Telegram need

        telegram = TelegramAlerts(env)
        stack.push_async_callback(telegram.aclose)
    outbox = AlertOutbox(scripts)
    notes = ModelNotes(outbox, now_ms=scripts.clock.now_ms)
    background.keep("model_notes", notes.run)
    llm = LLMClient(
        http,
        base_url=env.llm_api_url,
        api_key=env.llm_api_key.get_secret_value(),
        clock=scripts.clock.now_ms,
        on_learned=notes,
    )
    prices = Prices()
    agents = {
        key: Agent(
            llm,
            model=model.model_copy(update={"name": key.model}),
            ladder=settings.config.rungs(key.model),
            prompts=prompts,
            tools=texts.tools,
            clock=clock.monotonic,
            spending=Spending(scripts),
            prices=prices,
            limits=settings.config.limits,
        )
        for key, prompts in texts.prompts.items()
    }
    look = partial(
        look_at_models,
        http,
        base_url=env.llm_api_url,
        api_key=env.llm_api_key.get_secret_value(),
        rungs=[rung for key in texts.prompts for rung in settings.config.rungs(key.model)],
        prices=prices,
    )
    background.keep("model_catalogue", look)
    generations = Generations(scripts, http, base_url=env.llm_api_url, api_key=env.llm_api_key.get_secret_value())
    background.keep("generations", partial(generations.run, count=count))
    accounts, pacing = settings.config.accounts, Pacing(scripts)
    graph_clients, ids, marks = GraphClients(http, env), AccountIdStore(scripts), Marks(scripts)
    reading = Reading(
        settings=settings,
        graph=graph_clients.of,
        pacing=pacing,
        inbox=Inbox(scripts, settings),
        known=KnownMessages(scripts),
        ids=ids,
        now_ms=scripts.clock.now_ms,
    )
    services = Services(
        settings=settings,
        conversations=Conversations(confirmed, settings),
        parking=Parking(scripts),
        outbox=outbox,
        telemetry=Telemetry(scripts),
        health=SystemHealth(scripts, settings),
        pacing=pacing,
        words=texts.words,
        media=texts.media.open(http),
        reading=reading,
        reconciler=Reconciler(reading, marks, SystemIncidents(scripts, outbox)),
        background=background,
        telegram=telegram,
        http=http,
        graph_clients=graph_clients,
        gate=TurnGate(),
        now_ms=scripts.clock.now_ms,
        monotonic=clock.monotonic,
        agents=agents,
        prompt_sets=texts.prompts,
        _stack=stack,
    )
    learner = AccountIdsLearner(accounts, store=ids, graph=graph_clients.of, learned=graph_clients.learn)
    background.keep("parked_conversations", partial(services.parking.keep_waking, accounts, count=count))
    background.keep("account_ids", partial(learner.run, count=count))
    background.keep("first_seen", partial(marks.meet, accounts, now_ms=scripts.clock.now_ms, count=count))
    background.keep("replicas_check", partial(tell_replicas, confirmed))
    background.keep("unread_reader", partial(UnreadReader(UnreadMessages(scripts), reading).run, count=count))
    if settings.config.comments.keywords:
        replies = PrivateReplies(
            CommentOutbox(confirmed),
            settings=settings,
            graph=services.graph,
            pacing=services.pacing,
            parking=services.parking,
            now_ms=scripts.clock.now_ms,
        )
        background.keep("private_replies", partial(replies.run, count=count))
    return services
