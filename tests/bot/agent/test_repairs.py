"""Each cause of a refusal has one cure, and a cure that would change nothing is none."""

import pytest

from bot.agent.repairs import Repair, repair_for
from bot.model_output import CallFault


@pytest.mark.parametrize(
    ("fault", "detail", "has_tool_steps", "is_plain", "repair"),
    [
        (CallFault.CONTEXT_TOO_LONG, "", False, True, Repair.TRIM),
        (CallFault.CONTEXT_TOO_LONG, "no_endpoints", True, False, Repair.TRIM),
        (CallFault.BAD_REQUEST, "no_endpoints", True, False, Repair.PLAIN),
        (CallFault.BAD_REQUEST, "no_endpoints", True, True, Repair.NONE),
        (CallFault.BAD_REQUEST, "tool_choice_unsupported", False, False, Repair.PLAIN),
        (CallFault.BAD_REQUEST, "", True, False, Repair.FLATTEN),
        (CallFault.BAD_REQUEST, "", False, False, Repair.NONE),
        (CallFault.DEADLINE, "", True, False, Repair.NONE),
    ],
)
def test_a_refusal_is_cured_by_what_it_names(
    fault: CallFault, detail: str, has_tool_steps: bool, is_plain: bool, repair: Repair
) -> None:
    assert repair_for(fault, detail, has_tool_steps=has_tool_steps, is_plain=is_plain) is repair
