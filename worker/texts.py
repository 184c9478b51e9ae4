"""The words and the knowledge, read and checked before the process says that it is ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.files.prompts import PromptSet, load_prompts
from runtime.settings import Account, Settings
from worker.agent.knowledge import load_knowledge
from worker.agent.media import MediaPorts, find_media_ports
from worker.agent.tools import ToolBox, search_tool
from worker.alerts.alert_words import AlertWords, load_alert_words

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class AgentKey:
    """How an account speaks; accounts that speak alike share their prompts and their agent."""

    folder: str
    locale: str
    model: str


def agent_key_of(settings: Settings, account: Account) -> AgentKey:
    return AgentKey(account.prompts or "prompts", settings.locale_of(account), settings.model_of(account).name)


@dataclass(frozen=True, slots=True)
class Texts:
    prompts: Mapping[AgentKey, PromptSet]
    tools: ToolBox
    words: AlertWords
    media: MediaPorts


def load_texts(settings: Settings) -> Texts:
    """Raise `PromptsInvalid`, `KnowledgeInvalid` or `MediaInvalid` naming what is wrong."""
    config = settings.config
    keys = {AgentKey("prompts", config.business.locale, config.model.name)}
    keys |= {agent_key_of(settings, account) for account in config.accounts}
    return Texts(
        prompts={key: load_prompts(ROOT / key.folder, key.locale) for key in keys},
        tools=ToolBox([search_tool(load_knowledge(ROOT / "knowledge"))]),
        words=load_alert_words(ROOT / "prompts", config.business.locale),
        media=find_media_ports(config.media),
    )
