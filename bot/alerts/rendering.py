"""What a manager reads at two in the morning: what happened, to whom, how long they have waited, where to click."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape

from bot.alerts.alert import Alert
from bot.alerts.rules import family_of


@dataclass(frozen=True, slots=True)
class AlertWords:
    """The words of one locale; a rule without words of its own gets those of its family, else `reasons["default"]`."""

    titles: Mapping[str, str]
    labels: Mapping[str, str]
    units: Mapping[str, str]
    reasons: Mapping[str, str]

    def reason(self, rule: str, detail: str) -> str:
        """`{rule}` and `{detail}` are replaced as text, so that a brace typed by mistake breaks no alert."""
        text = self.reasons.get(rule) or self.reasons.get(family_of(rule)) or self.reasons["default"]
        return text.replace("{rule}", rule).replace("{detail}", detail)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the alert's own record does not hold: the present, and who the customer is if that may be said."""

    now: datetime
    last_message_at: datetime | None
    account_name: str
    customer: str = ""
    link: str = ""


def render_alert(alert: Alert, words: AlertWords, around: Surroundings) -> str:
    """HTML for Telegram. No message text, no phone: a chat of managers is not where those belong."""
    if alert.recovered:
        return _render_recovery(alert, words)
    labels, is_task = words.labels, alert.rule.startswith("task_")
    icon = "🟡" if is_task else "🔴"
    lines = [f"{icon} <b>{escape(_title(alert, words))}</b>", escape(words.reason(alert.rule, alert.detail))]
    if alert.conversation and not is_task:
        lines.append(escape(words.titles["told" if alert.told else "not_told"]))
    lines += [f"{escape(label)}: {escape(value)}" for label, value in _facts(alert, words, around)]
    if around.link:
        lines.append(f'<a href="{escape(around.link, quote=True)}">{escape(labels["open"])}</a>')
    if alert.conversation:
        lines.append(f"{escape(labels['conversation'])}: <code>{escape(alert.conversation)}</code>")
    if alert.count > 1:
        lines.append(escape(labels["repeated"].replace("{count}", str(alert.count))))
    return "\n".join(lines)


def _title(alert: Alert, words: AlertWords) -> str:
    if alert.rule.startswith("task_"):
        return words.titles["task"]
    if alert.conversation:
        return words.titles["handover"]
    return words.titles["account" if alert.rule.startswith("account_") else "system"]


def _facts(alert: Alert, words: AlertWords, around: Surroundings) -> Iterator[tuple[str, str]]:
    """What stands below the words, each with its label."""
    labels = words.labels
    if alert.account:
        yield labels["account"], around.account_name
    if around.customer:
        yield labels["customer"], around.customer
    if alert.waiting_since:
        waited = around.now.timestamp() - alert.waiting_since / 1000
        yield labels["waiting"], duration(max(waited, 0.0), words.units)
    if around.last_message_at:
        yield labels["last_message"], around.last_message_at.strftime("%H:%M, %d.%m (%Z)")


def _render_recovery(alert: Alert, words: AlertWords) -> str:
    """Well again; the rule has words of its own for that, named `<rule>_over`."""
    lasted = (alert.over_at - alert.first_at) / 1000
    return "\n".join(
        [
            f"🟢 <b>{escape(words.titles['recovered'])}</b>",
            escape(words.reason(f"{alert.rule}_over", "")),
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


def alert_backoff_seconds(tries: int, asked_seconds: float | None = None) -> float:
    """How long an alert waits that could not be delivered: at most five minutes, or as long as Telegram has asked."""
    return max(asked_seconds or 0.0, min(2.0 * 2.0 ** min(tries, 8), 300.0))
