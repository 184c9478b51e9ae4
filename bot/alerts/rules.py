"""The closed list of what an alert can be about. Every locale has words for each rule, its own or its family's."""

from typing import Final

from bot.model_output import CallFault

ENDING: Final = frozenset(
    """overdue no_worker no_dispatcher no_redis deaf unreadable_webhooks webhooks_lost store_eviction store_persistence
    store_connections store_rights store_unfit""".split()  # noqa: SIM905 - reads better
)
"""About the house; the end is told, too, in the words of `<rule>_over`."""

HOUSE: Final = ENDING | frozenset(
    "unknown_account too_old clock_went_back clock_jumped_ahead model_no_tools model_balance_low alert_damaged".split()  # noqa: SIM905
)

ACCOUNT: Final = frozenset(
    """account_token account_permission account_restricted account_throttled account_standby account_policy_block
    account_policy_warning account_missing account_token_missing unread_messages""".split()  # noqa: SIM905
)

TASKS: Final = frozenset(("task_call", "task_message", "task_meeting"))
"""What the bot has promised that a manager will do."""

CONVERSATION: Final = TASKS | frozenset(
    """asked_for_human cost_turn cost_day limit_turns limit_cost auto_responder turns_failed unreadable message_lost
    plan_damaged send_unknown bad_content recipient_gone owned_by_another account_removed window_closing window_closed
    salvaged""".split()  # noqa: SIM905
)

UNUSABLE_ANSWER: Final = frozenset(
    """true_empty whitespace zero_width markup_only tags_only unclosed_think empty_with_tokens reasoning_lock
    budget_eaten malformed_call tool_call_on_last_step stream_cut content_filter too_long length_cut tool_syntax
    json_wrapper kick_leak sentinel machine_text refusal identity prompt_leak parrot monologue both_sides placeholder
    loop garbled wrong_language announced_tool""".split()  # noqa: SIM905
)
"""What the validator finds in the model's last answer (`bot/reply/validation.py`): the customer is handed over."""

NO_ANSWER: Final = frozenset(fault.value for fault in CallFault)
"""Why the model's last call gave no answer: the customer is handed over."""

EVERY_RULE: Final = HOUSE | ACCOUNT | CONVERSATION | UNUSABLE_ANSWER | NO_ANSWER


def family_of(rule: str) -> str:
    """Whose words a rule without words of its own gets; "" for none."""
    if rule in UNUSABLE_ANSWER:
        return "unusable_answer"
    return "no_answer" if rule in NO_ANSWER else ""
