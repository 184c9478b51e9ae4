"""Delivers one alert from the outbox, where it stays until Telegram has it or a day is over. The log says it too."""

from typing import TYPE_CHECKING, Any

from bot.alerts.alert import Alert
from bot.alerts.rendering import Surroundings, alert_backoff_seconds, render_alert
from bot.errors import NightshiftError, OutcomeUnknown
from bot.incoming.events import Channel
from runtime.clock import local
from runtime.logging import get_logger
from worker.services import Services

if TYPE_CHECKING:
    from clients.telegram.client import TelegramAlerts

log = get_logger(__name__)

UNCONFIGURED_RETRY_SECONDS = 3600.0


async def deliver_alert(services: Services, alert_id: str) -> str:
    """ "sent", "updated", "closed", "changed", "waits", "given up" after a day, or "gone" when it was closed before."""
    waiting = await services.outbox.load(alert_id)
    if waiting is None:
        await services.outbox.close(alert_id, shown=0)
        return "gone"
    alert = waiting.alert
    if waiting.is_delivered:
        return "closed" if await services.outbox.close(alert_id, shown=alert.count) else "changed"
    # Said loudly once for each change, not with each of the tries.
    say = log.info if waiting.failing_at == alert.count else log.error
    whose = {"alert": alert_id, "rule": alert.rule, "conversation": alert.conversation or None}
    if services.telegram is None:
        say("alert_without_telegram", **whose)
        await services.outbox.kept(waiting, again_in_seconds=UNCONFIGURED_RETRY_SECONDS)
        return "waits: telegram is not configured"
    html = render_alert(alert, services.words, await _surroundings(services, alert))
    try:
        message_id, word = await _send_or_update(services.telegram, html, waiting.message_id)
    except NightshiftError as exc:
        # A doubled alert does less harm than a lost one, so an unknown outcome is tried again too.
        asked_seconds = getattr(exc, "retry_after_seconds", None)
        wait = alert_backoff_seconds(waiting.tries + (2 if isinstance(exc, OutcomeUnknown) else 0), asked_seconds)
        say("alert_not_delivered", **whose, error=type(exc).__name__, reason=str(exc), again_in_seconds=wait)
        if await services.outbox.failed(waiting, again_in_seconds=wait) != "given_up":
            return "waits: telegram failed"
        log.critical("alert_given_up", **whose, tries=waiting.tries)
        return "given up"
    await services.outbox.delivered(waiting, message_id)
    return word


async def _send_or_update(telegram: "TelegramAlerts", html: str, message_id: str) -> tuple[str, str]:
    """An incident that goes on changes its own message; should that be impossible, it gets a new one."""
    from clients.telegram.client import AlertRefused  # noqa: PLC0415 - as in worker.services

    if message_id:
        try:
            await telegram.edit(message_id, html)
        except AlertRefused:
            log.info("alert_sent_anew")
        else:
            return message_id, "updated"
    return await telegram.send(html), "sent"


async def _surroundings(services: Services, alert: Alert) -> Surroundings:
    config = services.settings.config
    zone = config.business.timezone
    channel, account_id = alert.channel, alert.account
    account = services.settings.account(channel, account_id)
    username = name = ""
    if account and alert.conversation and config.alerts.show_name:
        username, name = await _who(services, account, alert.conversation)
    link = ""
    if username and channel == Channel.INSTAGRAM:
        link = f"https://www.instagram.com/{username}/"
    elif account and (account.page_id or channel == Channel.MESSENGER):
        # Meta documents no link to one conversation; this opens the inbox of the Page.
        link = f"https://business.facebook.com/latest/inbox/all?asset_id={account.page_id or account.id}"
    return Surroundings(
        now=local(services.now_ms(), zone),
        last_message_at=local(alert.last_message_at, zone) if alert.last_message_at else None,
        account_name=_account_name(services, channel, account_id, whole=not alert.conversation),
        customer=f"@{username}" if username else name,
        link=link,
    )


async def _who(services: Services, account: Any, conversation_id: str) -> tuple[str, str]:
    """The public @username or the first name; the alert does not wait for it longer than a moment."""
    customer_id = await services.conversations.customer_of(conversation_id)
    if not customer_id:
        return "", ""
    try:
        profile = await services.graph(account, patience_seconds=3.0).fetch_profile(customer_id)
    except NightshiftError as exc:
        log.info("profile_unknown", conversation=conversation_id, error=type(exc).__name__)
        return "", ""
    return profile.username, profile.name.split(" ")[0] if profile.name else ""


def _account_name(services: Services, channel: str, account_id: str, *, whole: bool) -> str:
    """The business and the channel; the long id only where it tells two accounts apart, or a manager has to mend it."""
    name = f"{services.settings.config.business.name}, {channel.capitalize()}"
    alike = sum(1 for account in services.settings.config.accounts if account.channel == channel)
    return f"{name} {account_id}" if whole or alike > 1 else name
