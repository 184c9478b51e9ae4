"""Settings of the contract whose feature this version has not built.

They are named so that an operator who sets one is told that nothing comes of it; a test holds that nothing reads them.
"""

from collections.abc import Mapping

VARIABLES: Mapping[str, str] = {
    "telegram_webhook_secret": "no route for Telegram's button presses",
    "telegram_admin_ids": "no buttons in Telegram that only some may press",
    "telegram_escalation_chat_id": "no escalation to a second chat",
    "alert_webhook_url": "no second route for alerts",
    "alert_webhook_secret": "no second route for alerts",
    "amocrm_url": "no CRM",
    "amocrm_token": "no CRM",
    "lead_webhook_url": "no webhook for leads",
    "lead_webhook_secret": "no webhook for leads",
    "console_port": "no console",
    "console_password": "no console",
    "console_url": "no console",
}
"""A field of `runtime.settings.Environment`, and what it waits for."""

MADE_UP_AHEAD = frozenset({"telegram_webhook_secret"})
"""What `nightshift up` writes into the first `.env` by itself: no operator waits for it, so no warning is due."""

KEYS: Mapping[str, str] = {
    "team": "no hours of the team",
    "handover": "no reminders of a promise",
    "grounding": "no check of figures and claims",
    "tools": "no tools of other servers",
    "business.phone_regions": "no phone numbers are read",
    "accounts.knowledge": "no knowledge of an account's own",
    "accounts.telegram_chat_id": "no chat of an account's own",
    "alerts.show_phone": "no phone numbers in alerts",
    "alerts.excerpts": "no message texts in alerts",
    "leads.crm": "no CRM",
    "leads.file": "no file of leads",
    "leads.morning": "no tasks for leads",
}
"""A section or a key of `nightshift.toml` that `runtime.config` does not know, and what it waits for."""
