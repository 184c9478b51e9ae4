"""The last step may not use tools, and is told so."""

import pytest

from bot.agent.agent_step import prepare_agent_step


@pytest.mark.parametrize(
    ("step", "max_steps", "out_of_time", "is_last"),
    [
        (0, 20, False, False),
        (18, 20, False, False),
        (19, 20, False, True),
        (20, 20, False, True),
        (3, 20, True, True),
        (0, 1, False, True),
    ],
)
def test_the_last_step_is_the_one_before_the_limit_or_the_one_that_time_allows(
    step: int, max_steps: int, out_of_time: bool, is_last: bool
) -> None:
    final = prepare_agent_step(
        step, max_steps=max_steps, system_prompt="You are Anna.", instruction="Answer now.", out_of_time=out_of_time
    )

    assert (final is not None) is is_last


def test_the_instruction_is_added_to_the_prompt_and_replaces_nothing() -> None:
    final = prepare_agent_step(4, max_steps=5, system_prompt="You are Anna.", instruction="Answer now.")

    assert final is not None
    assert final.system_prompt == "You are Anna.\n\nAnswer now."
    assert (final.trailing_note, final.tool_choice) == ("Answer now.", "none")
