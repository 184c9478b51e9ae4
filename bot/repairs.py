"""Which change of the request cures a refusal of it: servers name the cause, and each cause has one known cure."""

from enum import StrEnum

from bot.model_output import CallFault


class Repair(StrEnum):
    NONE = ""
    FLATTEN = "flatten"  # tool steps told as plain words
    THINK = "think"  # this model cannot be told not to think
    ANY_TOOL_CHOICE = "any_tool_choice"  # without `tool_choice`
    FEWER_TOKENS = "fewer_tokens"  # half of `max_tokens`
    TRIM = "trim"  # less history, shorter tool results
    PLAIN = "plain"  # nothing but what a server must know


_BY_DETAIL = {
    "reasoning_mandatory": Repair.THINK,
    "tool_choice_unsupported": Repair.ANY_TOOL_CHOICE,
    "fewer_max_tokens": Repair.FEWER_TOKENS,
    "max_tokens_exceeded": Repair.FEWER_TOKENS,
    "no_endpoints": Repair.PLAIN,
}


def repair_for(
    fault: CallFault, detail: str, *, thinking: str, has_tool_choice: bool, has_tool_steps: bool, is_plain: bool
) -> Repair:
    """`thinking` and the flags describe the refused request: a cure that would change nothing is none.

    `is_plain`: it held no wish that a router could fail to meet.
    """
    if fault is CallFault.CONTEXT_TOO_LONG:
        return Repair.TRIM
    repair = _BY_DETAIL.get(detail, Repair.NONE)
    if repair is Repair.THINK and thinking == "default":
        return Repair.NONE
    if repair is Repair.ANY_TOOL_CHOICE and not has_tool_choice:
        return Repair.PLAIN if not is_plain else Repair.NONE
    if repair is Repair.PLAIN and is_plain:
        return Repair.NONE
    if repair is Repair.NONE and fault is CallFault.BAD_REQUEST and has_tool_steps:
        return Repair.FLATTEN  # our history, then: told as plain words it breaks no template's rule
    return repair
