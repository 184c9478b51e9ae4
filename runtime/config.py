"""`nightshift.toml` as values: each section, its defaults, and what is refused."""

import re
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from bot.agent.ladder import Kick, Rung, default_ladder
from bot.agent.ladder_config import declared_ladder, ladder_faults
from bot.incoming.events import Channel
from bot.shift import Hours, ShiftMode, parse_hours

MOST_REPLY_BYTES = 1000


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Business(Section):
    name: str = "Nightshift"
    locale: str = "ru"
    disclosure: bool = True
    mark_seen: bool = True
    timezone: str = "UTC"

    @field_validator("timezone")
    @classmethod
    def known_timezone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as exc:
            raise ValueError(f"unknown time zone {value!r}; write it like Europe/Moscow") from exc
        return value


class Debounce(Section):
    quiet_seconds: float = Field(4, ge=0)
    max_wait_seconds: float = Field(15, ge=0)


def _hours(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError('hours is a list such as ["20:00-10:00"]')  # noqa: TRY004 - pydantic wants ValueError
    return tuple(parse_hours(item) if isinstance(item, str) else item for item in value)


class Shift(Section):
    mode: ShiftMode = ShiftMode.ALWAYS
    hours: tuple[Hours, ...] = ()
    humans_first_minutes: float = Field(10, ge=0)
    takeover_minutes: float = Field(60, ge=0)
    ignore_auto_replies_seconds: float = Field(0, ge=0)
    look_back: bool = False

    @field_validator("hours", mode="before")
    @classmethod
    def read_hours(cls, value: object) -> object:
        return _hours(value)


class ShiftOverride(Section):
    """What is named here replaces `[shift]` for one account."""

    mode: ShiftMode | None = None
    hours: tuple[Hours, ...] | None = None
    humans_first_minutes: float | None = Field(None, ge=0)
    takeover_minutes: float | None = Field(None, ge=0)
    ignore_auto_replies_seconds: float | None = Field(None, ge=0)
    look_back: bool | None = None

    @field_validator("hours", mode="before")
    @classmethod
    def read_hours(cls, value: object) -> object:
        return _hours(value)


class Account(Section):
    """`locale`, `model` (a name), `prompts` (a folder beside the default one) and `shift` replace, for this account
    alone, what stands in the sections of these names; empty means the same as everywhere.

    With Instagram Login Meta knows an account by two ids, which `/me` calls `id` (app-scoped) and `user_id` (what
    webhooks carry and paths name). Either may be `id` here; with `user_id` beside it Meta need not be asked.
    """

    channel: Channel
    id: str
    user_id: str | None = None
    login: Literal["facebook", "instagram"] = "facebook"
    page_id: str | None = None
    token_env: str = ""
    locale: str = ""
    prompts: str = ""
    model: str = ""
    shift: ShiftOverride = ShiftOverride()
    token: SecretStr = SecretStr("")  # filled from the variable that token_env names

    @field_validator("id", "user_id", "page_id", mode="before")
    @classmethod
    def ids_are_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Model(Section):
    name: str = "deepseek/deepseek-v4-pro"
    fallback: str = "qwen/qwen3.8-flash"
    max_steps: int = Field(20, ge=1, le=100)
    max_kicks: int = Field(2, ge=0, le=2)
    salvage: bool = False
    temperature: float | None = None
    effort: str | None = None
    max_tokens: int = Field(8000, ge=256)
    last_step_max_tokens: int = Field(8000, ge=256)
    data_collection: Literal["deny", "allow"] = "deny"
    provider: dict[str, Any] = {}
    max_cost_per_turn: float = Field(0, ge=0)  # US dollars; 0: no cap
    max_cost_per_day: float = Field(0, ge=0)

    @field_validator("provider")
    @classmethod
    def data_collection_has_a_key(cls, value: dict[str, Any]) -> dict[str, Any]:
        if "data_collection" in value:
            raise ValueError("data_collection is a key of [model] itself")
        return value


class LadderRung(Section):
    """One `[[ladder]]` entry; the last one is `stub = true`, the line that needs no model."""

    name: str = ""
    model: str = ""
    kick: Kick = Kick.NONE
    thinking: str = "default"
    tools: bool = True
    flatten: bool = False
    max_tokens: int = Field(0, ge=0)
    provider: dict[str, Any] = {}
    salvage: bool = False
    stub: bool = False


class Turn(Section):
    budget_seconds: float = Field(60, ge=3)


class Leads(Section):
    fields: tuple[str, ...] = ("phone", "birth_date", "gender", "occupation")


class Alerts(Section):
    """`show_name`: an alert may say the customer's public @username or first name.

    `heartbeat_url` is asked for once a minute while all is well, so that its owner rings when it is not.
    """

    show_name: bool = True
    heartbeat_url: str = ""

    @field_validator("heartbeat_url")
    @classmethod
    def web_address(cls, value: str) -> str:
        if value and not value.startswith(("https://", "http://")):
            raise ValueError("heartbeat_url must begin with https:// or http://")
        return value


class CommentSettings(Section):
    """A comment with one of these words is answered once, privately, with `reply`; no words, no replies."""

    keywords: tuple[str, ...] = ()
    reply: str = ""

    @model_validator(mode="after")
    def has_words_to_say(self) -> "CommentSettings":
        if self.keywords and not self.reply.strip():
            raise ValueError("keywords without a reply: write what a comment is answered with")
        if len(self.reply.encode()) > MOST_REPLY_BYTES:
            raise ValueError(f"reply is longer than the {MOST_REPLY_BYTES} bytes that Instagram takes in one message")
        return self


class MediaSettings(Section):
    """Who puts voice messages and pictures into words: `module:factory`, see worker/agent/media.py."""

    transcriber: str = ""
    captioner: str = ""
    seconds: float = Field(15, gt=0)

    @field_validator("transcriber", "captioner")
    @classmethod
    def import_path(cls, value: str) -> str:
        path = "" if value.strip().lower() == "none" else value.strip()
        if path and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", path):
            raise ValueError(f"{value!r} is no import path; write it like package.module:factory")
        return path

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of media that a command of the operator reads."""
        return frozenset(kind for kind, path in (("audio", self.transcriber), ("image", self.captioner)) if path)


class Reconcile(Section):
    """Every so many `minutes` the conversations of the last `hours` are looked through for what no webhook has brought.

    0 minutes: never. A message that is older than the messaging window may not be answered any more.
    """

    minutes: float = Field(0, ge=0)
    hours: float = Field(12, gt=0, le=23)


class StoreSettings(Section):
    """`replicas`: how many replicas must have confirmed what a 200 acknowledges (Redis's WAIT); 0 asks none."""

    replicas: int = Field(0, ge=0, le=1)


class CustomerLimits(Section):
    """What one customer may cost; see `bot.limits`. 0: no limit.

    `turns_per_customer_hour`: beyond, the conversation is handed over once, then `silenced: flood` for an hour.
    `burst_chars`: more of one burst is cut in the middle for the model, and the history before it gets as many again.
    `cost_per_customer_day`: US dollars since midnight UTC, by the prices that are known; beyond, as for turns.
    """

    turns_per_customer_hour: int = Field(40, ge=0)
    burst_chars: int = Field(12_000, ge=0)
    cost_per_customer_day: float = Field(0.5, ge=0)


class TelemetrySettings(Section):
    """`traces_sample_rate`: the share of turns whose spans, names and figures alone, go to Sentry; needs a DSN."""

    traces_sample_rate: float = Field(0, ge=0, le=1)


class Config(Section):
    business: Business = Business()
    accounts: tuple[Account, ...] = ()
    debounce: Debounce = Debounce()
    shift: Shift = Shift()
    model: Model = Model()
    ladder: tuple[LadderRung, ...] = ()
    turn: Turn = Turn()
    leads: Leads = Leads()
    alerts: Alerts = Alerts()
    store: StoreSettings = StoreSettings()
    limits: CustomerLimits = CustomerLimits()
    telemetry: TelemetrySettings = TelemetrySettings()
    media: MediaSettings = MediaSettings()
    comments: CommentSettings = CommentSettings()
    reconcile: Reconcile = Reconcile()

    @model_validator(mode="after")
    def ladder_ends_in_the_stub(self) -> "Config":
        if faults := ladder_faults(self.ladder):
            raise ValueError("[[ladder]]: " + "; ".join(faults))
        return self

    def rungs(self, main: str) -> tuple[Rung, ...]:
        """The ladder from the model `main` upwards: the declared one, else the shorthand of `[model]` spelled out."""
        return declared_ladder(self.ladder, main, self.model.fallback) or default_ladder(
            main=main,
            fallback=self.model.fallback,
            max_kicks=self.model.max_kicks,
            salvage=self.model.salvage,
        )

    @model_validator(mode="after")
    def accounts_differ(self) -> "Config":
        seen: set[tuple[str, str]] = set()
        for account in self.accounts:
            for name in {account.id, account.user_id or account.id}:
                if (account.channel, name) in seen:
                    raise ValueError(f"account {account.channel} {name} is listed twice")
                seen.add((account.channel, name))
        return self
