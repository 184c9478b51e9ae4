"""Which change of the request cures a refusal of it: servers name the cause, and each cause has one known cure."""

from enum import StrEnum

from bot.model_output import CallFault


class Repair(StrEnum):
    NONE = ""
    # Of this request alone.
    FLATTEN = "flatten"  # tool steps told as plain words
    TRIM = "trim"  # less history, shorter tool results
    PLAIN = "plain"  # nothing but what a server must know
    # What a model at its server turned out to be like: `clients.llm.quirks` keeps it for all requests after this one.
    LIMIT_NAME = "limit_name"  # `max_tokens` has another name here, or none
    FEWER_TOKENS = "fewer_tokens"  # as many as the refusal leaves room for
    NO_TOOLS = "no_tools"  # it cannot call any
    ANY_TOOL_CHOICE = "any_tool_choice"  # without `tool_choice`
    THINK = "think"  # it cannot be told not to think
    TEMPERATURE = "temperature"  # its own, then
    IN_ONE_PIECE = "in_one_piece"  # it does not stream
    SYSTEM_AS_USER = "system_as_user"  # no system role: its text goes in front of the first user message
    ALTERNATE = "alternate"  # user and assistant strictly in turns, the user first
    NO_THOUGHTS = "no_thoughts"  # earlier thoughts are not sent back


OF_THE_TALK = frozenset({Repair.FLATTEN, Repair.TRIM})  # what they change stays changed for every model after


def repair_for(fault: CallFault, detail: str, *, has_tool_steps: bool, is_plain: bool) -> Repair:
    """The cure of a refusal that says nothing about the server as such. The flags describe the refused request: a cure
    that would change nothing is none. `is_plain`: it asked for nothing that a router could fail to meet.
    """
    if fault is CallFault.CONTEXT_TOO_LONG:
        return Repair.TRIM
    if detail in ("no_endpoints", "tool_choice_unsupported"):
        return Repair.NONE if is_plain else Repair.PLAIN
    if fault is CallFault.BAD_REQUEST and has_tool_steps:
        return Repair.FLATTEN  # our history, then: told as plain words it breaks no template's rule
    return Repair.NONE
