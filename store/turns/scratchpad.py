"""What a turn leaves behind for the next one that answers the same words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """What a turn has looked up for the words of this revision: kept for the next one, or it would be paid for twice.

    Kept in the field `notebook`, as older versions call it; gone once the words are not what they were.
    """

    text: str = ""
    revised: str = "0"


EMPTY_SCRATCHPAD = Scratchpad()
