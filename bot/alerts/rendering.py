"""What a manager reads at two in the morning: what happened, to whom, how long they have waited, where to click."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any


@dataclass(frozen=True, slots=True)
class AlertWords:
    """The words of one locale; a reason without words of its own gets `reasons["default"]`."""

    titles: Mapping[str, str]
    labels: Mapping[str, str]
    units: Mapping[str, str]
    reasons: Mapping[str, str]

    def reason(self, rule: str, detail: str) -> str:
        """`{rule}` and `{detail}` are replaced as text, so that a brace typed by mistake breaks no alert."""
        text = self.reasons.get(rule, self.reasons["default"])
        return text.replace("{rule}", rule).replace("{detail}", detail)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the alert's own record does not hold: the present, and who the customer is if that may be said."""

    now: datetime
    last_message_at: datetime | None
    account_name: str
    customer: str = ""
    link: str = ""


def render_alert(body: Mapping[str, Any], words: AlertWords, around: Surroundings) -> str:
    """HTML for Telegram. No message text, no phone: a chat of managers is not where those belong."""
    rule, labels = str(body.get("rule", "")), words.labels
    if body.get("recovered"):
        return _render_recovery(rule, body, words)
    about_conversation = bool(body.get("conversation"))
    title = words.titles["handover"]
    if rule.startswith("task_"):
        title = words.titles["task"]
    elif rule.startswith("account_") and not about_conversation:
        title = words.titles["account"]
    elif not about_conversation:
        title = words.titles["system"]
    icon = "🟡" if rule.startswith("task_") else "🔴"
    lines = [f"{icon} <b>{escape(title)}</b>", escape(words.reason(rule, str(body.get("detail", ""))))]
    if about_conversation and not rule.startswith("task_"):
        lines.append(escape(words.titles["told" if body.get("told") else "not_told"]))
    facts: list[tuple[str, str]] = []
    if body.get("account"):
        facts.append((labels["account"], around.account_name))
    if around.customer:
        facts.append((labels["customer"], around.customer))
    if body.get("waiting_since"):
        waited = around.now.timestamp() - int(body["waiting_since"]) / 1000
        facts.append((labels["waiting"], duration(max(waited, 0.0), words.units)))
    if around.last_message_at:
        facts.append((labels["last_message"], around.last_message_at.strftime("%H:%M, %d.%m (%Z)")))
    lines += [f"{escape(label)}: {escape(value)}" for label, value in facts]
    if around.link:
        lines.append(f'<a href="{escape(around.link, quote=True)}">{escape(labels["open"])}</a>')
    if about_conversation:
        lines.append(f"{escape(labels['conversation'])}: <code>{escape(str(body['conversation']))}</code>")
    if int(body.get("count", 1)) > 1:
        lines.append(escape(labels["repeated"].replace("{count}", str(body["count"]))))
    return "\n".join(lines)


def _render_recovery(rule: str, body: Mapping[str, Any], words: AlertWords) -> str:
    """Well again; the rule has words of its own for that, named `<rule>_over`."""
    lasted = (int(body.get("over_at", 0)) - int(body.get("first_at", 0))) / 1000
    return "\n".join(
        [
            f"🟢 <b>{escape(words.titles['recovered'])}</b>",
            escape(words.reason(f"{rule}_over", "")),
            escape(f"{words.labels['lasted']}: {duration(max(lasted, 0.0), words.units)}"),
        ]
    )


def duration(seconds: float, units: Mapping[str, str]) -> str:
    """Two units at most: 42 s, 3 min 5 s, 2 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} {units['seconds']}"
    if whole < 3600:
        return f"{whole // 60} {units['minutes']} {whole % 60} {units['seconds']}"
    return f"{whole // 3600} {units['hours']} {whole % 3600 // 60} {units['minutes']}"


def alert_backoff_seconds(tries: int, wish: float | None = None) -> float:
    """How long an alert that could not be delivered waits: a manager's silence is not worth giving up for."""
    return max(wish or 0.0, min(2.0 * 2.0 ** min(tries, 8), 300.0))
