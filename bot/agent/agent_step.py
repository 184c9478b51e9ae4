"""The step limit that cannot end in silence: the last step of a turn may not use tools, and is told so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FinalStep:
    """What changes in the request of the last step.

    The tools stay listed, since some routes refuse a tool conversation without them (dust-tt/dust #28498); they are
    forbidden by `tool_choice`, which some hosts take for a hint, so the instruction says it too, and what comes back
    is verified.
    """

    system_prompt: str
    trailing_note: str
    tool_choice: str = "none"


def prepare_agent_step(
    step: int, *, max_steps: int, system_prompt: str, instruction: str, out_of_time: bool = False
) -> FinalStep | None:
    """None for every step before the last; steps are counted from 0, so the last is `max_steps - 1`.

    A turn that runs out of time is at its last step too, or the step limit would never be the one that fires. The
    instruction is appended to the original system prompt and never replaces it: persona, stages and tags still hold.
    """
    if step < max_steps - 1 and not out_of_time:
        return None
    return FinalStep(system_prompt=f"{system_prompt}\n\n{instruction}", trailing_note=instruction)
