"""One record per turn with every attempt in it, and the counters of the day. Never a customer's words."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import orjson

from bot.agent.report import KEPT_RECORDS
from bot.conversation import Conversation, PlanMeta
from runtime.clock import utc_day
from runtime.logging import get_logger
from store.connection import StoreUnavailable
from store.keys import TELEMETRY
from store.scripts import Scripts
from worker.agent.agent_result import AgentResult
from worker.agent.attempts import AttemptRecord
from worker.agent.generations import ask_later
from worker.agent.topics import keywords_of

log = get_logger(__name__)

DAY_KEPT_MS = 400 * 86_400_000
REASONING_KEPT_MS = 7 * 86_400_000


class Telemetry:
    """A bounded stream; losing a record costs a figure, so an outage here never touches a reply."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def store(
        self, conversation: Conversation, meta: PlanMeta, result: AgentResult, *, customer_text: str, seconds: float
    ) -> str:
        """The id of the record, "" when it is lost. `seconds` is how long the agent took."""
        record = turn_record(conversation, meta, result, customer_text=customer_text, seconds=seconds)
        kept = {name: value for name, value in record.items() if name != "keywords"}  # tell.lua decides about those
        reasonings = orjson.dumps([asdict(r) for r in result.reasonings]).decode() if result.reasonings else ""
        pairs = [value for pair in counters_of(record).items() for value in pair]
        try:
            record_id = str(
                await self._scripts.run(
                    "tell",
                    conversation.id,
                    orjson.dumps(kept).decode(),
                    orjson.dumps(record["keywords"]).decode(),
                    KEPT_RECORDS,
                    utc_day(self._scripts.clock.now_ms()),
                    DAY_KEPT_MS,
                    reasonings,
                    REASONING_KEPT_MS,
                    conversation.revised,
                    " ".join(message.key for message in conversation.messages),
                    *pairs,
                )
            )
            if result.reply is None:
                generations = dict.fromkeys(a.generation_id for a in result.attempts if a.generation_id)
                await ask_later(self._scripts, conversation.id, record_id, list(generations))
        except StoreUnavailable as exc:
            log.warning("telemetry_lost", reason=str(exc), records=len(result.attempts))
            return ""
        return record_id

    async def delivered(self, record_id: str, conversation: Conversation, *, at_ms: int) -> None:
        """The customer has the whole of it: seconds from the oldest message received to now."""
        seconds = round((at_ms - conversation.oldest_received_ms) / 1000, 3)
        await self._note(record_id, conversation, "delivered", seconds)

    async def superseded(self, record_id: str, conversation: Conversation) -> None:
        """Newer messages came: this answer is not sent, the turn starts again."""
        await self._note(record_id, conversation, "superseded", 1)

    async def _note(self, record_id: str, conversation: Conversation, what: str, value: float) -> None:
        if not record_id:
            return
        words = ("*", "c", conversation.id, "of", record_id, what, value)
        try:
            await self._scripts.command("XADD", TELEMETRY, "MAXLEN", "~", KEPT_RECORDS, *words)
        except StoreUnavailable as exc:
            log.warning("telemetry_lost", reason=str(exc), records=1)


def turn_record(
    conversation: Conversation, meta: PlanMeta, result: AgentResult, *, customer_text: str, seconds: float
) -> dict[str, Any]:
    reply = result.reply
    used_tools = any(a.verdict == "tool_step" for a in result.attempts)
    # Small talk is what neither a script nor a tool covered: its topics show where the prompt may grow.
    small_talk = reply is not None and "CHAT_ONLY" in reply.verdict and "VERDICT" not in reply.missing
    return {
        "outcome": meta.outcome,
        "rule": result.rule,
        "rescued_by": result.rescued_by,
        "partial": result.partial,
        "salvaged": result.salvaged,
        "stage": reply.stage if reply else conversation.stage,
        "tags_missing": list(reply.missing) if reply else [],
        "waiting_seconds": round((conversation.now_ms - conversation.oldest_received_ms) / 1000, 3),
        "seconds": round(seconds, 3),
        "keywords": keywords_of(customer_text) if small_talk and not used_tools else [],
        "attempts": [_record(attempt) for attempt in result.attempts],
    }


def counters_of(record: Mapping[str, Any]) -> Counter[str]:
    """The counters of a day: `kind|value|what`, money in millionths of a dollar."""
    counts: Counter[str] = Counter()
    counts[f"turns|{record['outcome']}"] += 1
    counts[f"stage|{record['stage'] or 'NEW'}|{record['outcome']}"] += 1
    counts["partial"] += record["partial"]
    if record["rescued_by"]:
        counts[f"rung|{record['rescued_by']}|rescued"] += 1
    for attempt in record["attempts"]:
        verdict, rule = attempt["verdict"], attempt.get("rule", "")
        counts[f"attempt|{verdict}|{rule}|{attempt['rung']}"] += 1
        cost = round((attempt.get("cost") or 0) * 1e6)
        for kind, value in (
            ("model", attempt.get("model") or attempt["model_asked"]),
            ("provider", attempt.get("provider") or "unknown"),
            ("prompt", attempt["prompt_hash"]),
        ):
            counts[f"{kind}|{value}|{verdict}"] += 1
            counts[f"{kind}|{value}|micro_usd"] += cost
    return Counter({name: n for name, n in counts.items() if n})


_ATTEMPT = tuple(field.name for field in fields(AttemptRecord))


def _record(attempt: AttemptRecord) -> dict[str, Any]:
    """All but what is blank. `asdict` would copy every value deeply first."""
    values = ((name, getattr(attempt, name)) for name in _ATTEMPT)
    return {name: value for name, value in values if value not in ("", None, 0) or name == "step"}
