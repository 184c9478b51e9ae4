"""What a turn works with, built once per process on its event loop, and closed in the reverse order."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clients.graph.api import GraphAPI
from clients.http import make_http_client
from clients.llm.client import LLMClient
from runtime import clock
from runtime.background import Background
from runtime.files.prompts import PromptSet, load_prompts
from runtime.settings import Account, Settings
from store.accounts.ids import AccountIdStore
from store.accounts.marks import Looks
from store.accounts.pacing import Pacing
from store.accounts.parking import Parking
from store.connection import connect
from store.conversations import Conversations
from store.failure_counts import count_in
from store.health import SystemHealth
from store.inbox import Inbox
from store.known_messages import KnownMessages
from store.outboxes.alerts import AlertOutbox
from store.outboxes.comments import CommentOutbox
from store.outboxes.system_incidents import SystemIncidents
from store.outboxes.unread_messages import UnreadMessages
from store.scripts import Scripts
from store.server.replicas import tell_replicas
from store.spending import Spending
from worker.account_ids import AccountIdsLearner
from worker.agent.agent import Agent
from worker.agent.cost_cap import Prices
from worker.agent.generations import Generations
from worker.agent.knowledge import load_knowledge
from worker.agent.media import MediaPorts, MediaReader, find_media_ports
from worker.agent.model_catalogue import look_at_models
from worker.agent.model_notes import ModelNotes
from worker.agent.telemetry import Telemetry
from worker.agent.tools import ToolBox, search_tool
from worker.alerts.alert_words import AlertWords, load_alert_words
from worker.backfill.reading import Reading
from worker.backfill.reconciliation import Reconciler
from worker.backfill.unread_messages import UnreadReader
from worker.comments.private_replies import PrivateReplies
from worker.gate import TurnGate
from worker.graph_clients import SEND_SECONDS, Graphs

if TYPE_CHECKING:
    import httpx

    from clients.telegram.client import TelegramAlerts

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Manner:
    """How an account speaks; accounts that speak alike share their prompts and their agent."""

    folder: str
    locale: str
    model: str


def manner_of(settings: Settings, account: Account) -> Manner:
    return Manner(account.prompts or "prompts", settings.locale_of(account), settings.model_of(account).name)


@dataclass(slots=True)
class House:
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
    graphs: Graphs
    gate: TurnGate
    now_ms: Callable[[], int]
    monotonic: Callable[[], float]
    _agents: Mapping[Manner, Agent]
    _prompts: Mapping[Manner, PromptSet]
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def graph(self, account: Account, *, patience_seconds: float = SEND_SECONDS) -> GraphAPI:
        return self.graphs.of(account, patience_seconds=patience_seconds)

    def agent(self, account: Account) -> Agent:
        return self._agents[manner_of(self.settings, account)]

    def prompts(self, account: Account) -> PromptSet:
        return self._prompts[manner_of(self.settings, account)]

    async def aclose(self) -> None:
        await self._stack.aclose()


@dataclass(frozen=True, slots=True)
class Texts:
    """The words and the knowledge, read and checked before the process says that it is ready."""

    prompts: Mapping[Manner, PromptSet]
    tools: ToolBox
    words: AlertWords
    media: MediaPorts


def load_texts(settings: Settings, root: Path = ROOT) -> Texts:
    """Raise `PromptsInvalid`, `KnowledgeInvalid` or `MediaInvalid` naming what is wrong."""
    config = settings.config
    manners = {Manner("prompts", config.business.locale, config.model.name)}
    manners |= {manner_of(settings, account) for account in config.accounts}
    return Texts(
        prompts={manner: load_prompts(root / manner.folder, manner.locale) for manner in manners},
        tools=ToolBox([search_tool(load_knowledge(root / "knowledge"))]),
        words=load_alert_words(root / "prompts", config.business.locale),
        media=find_media_ports(config.media),
    )


async def build_house(settings: Settings, texts: Texts) -> House:
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
    # For what leaves the house. All else is forgotten as a whole, should it be, and done again.
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
        manner: Agent(
            llm,
            model=model.model_copy(update={"name": manner.model}),
            ladder=settings.config.rungs(manner.model),
            prompts=prompts,
            tools=texts.tools,
            clock=clock.monotonic,
            spending=Spending(scripts),
            prices=prices,
            limits=settings.config.limits,
        )
        for manner, prompts in texts.prompts.items()
    }
    look = partial(
        look_at_models,
        http,
        base_url=env.llm_api_url,
        api_key=env.llm_api_key.get_secret_value(),
        rungs=[rung for manner in texts.prompts for rung in settings.config.rungs(manner.model)],
        prices=prices,
    )
    background.keep("model_catalogue", look)
    generations = Generations(scripts, http, base_url=env.llm_api_url, api_key=env.llm_api_key.get_secret_value())
    background.keep("generations", partial(generations.run, count=count))
    accounts, pacing = settings.config.accounts, Pacing(scripts)
    graphs, ids, looks = Graphs(http, env), AccountIdStore(scripts), Looks(scripts)
    reading = Reading(
        settings=settings,
        graph=graphs.of,
        pacing=pacing,
        inbox=Inbox(scripts, settings),
        known=KnownMessages(scripts),
        ids=ids,
        now_ms=scripts.clock.now_ms,
    )
    house = House(
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
        reconciler=Reconciler(reading, looks, SystemIncidents(scripts, outbox)),
        background=background,
        telegram=telegram,
        http=http,
        graphs=graphs,
        gate=TurnGate(),
        now_ms=scripts.clock.now_ms,
        monotonic=clock.monotonic,
        _agents=agents,
        _prompts=texts.prompts,
        _stack=stack,
    )
    learner = AccountIdsLearner(accounts, store=ids, graph=graphs.of, learned=graphs.learn)
    background.keep("parked_conversations", partial(house.parking.keep_waking, accounts, count=count))
    background.keep("account_ids", partial(learner.run, count=count))
    background.keep("first_seen", partial(looks.meet, accounts, now_ms=scripts.clock.now_ms, count=count))
    background.keep("replicas_check", partial(tell_replicas, confirmed))
    background.keep("unread_reader", partial(UnreadReader(UnreadMessages(scripts), reading).run, count=count))
    if settings.config.comments.keywords:
        replies = PrivateReplies(
            CommentOutbox(confirmed),
            settings=settings,
            graph=house.graph,
            pacing=house.pacing,
            parking=house.parking,
            now_ms=scripts.clock.now_ms,
        )
        background.keep("private_replies", partial(replies.run, count=count))
    return house
