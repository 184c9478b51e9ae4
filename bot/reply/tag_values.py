"""The closed sets of values that the tags of a reply may have."""

import regex

TAG_KEYS = ("VERDICT", "TASK", "STAGE")

# What kind of talk it was, and how warm the lead is. A verdict is a kind, a temperature, or both joined by "|".
VERDICT_KINDS = frozenset({"CHAT_ONLY"})
TEMPERATURES = frozenset({"COLD", "WARM", "HOT"})

# What a manager should do next. CALL without a phone number is allowed: the task then says that there is none.
TASKS = frozenset({"NONE", "CALL", "MESSAGE", "MEETING"})

# How far the deal is. WON and LOST are only hints: nothing irreversible hangs on a tag.
STAGES = frozenset({"NEW", "CONSULT", "QUALIFY", "OFFER", "PAYMENT", "WON", "LOST"})

DEFAULT_VERDICT = "CHAT_ONLY|WARM"
DEFAULT_TASK = "NONE"

_EDGES = " .,!?…\"'`*_«»“”‘’()[]{}<>:;|/\\-–—"
_CHAT_PREFIX = regex.compile(r"^CHAT\s{0,3}[:|]\s{0,3}(?=[A-Z])")
_JOINT = regex.compile(r"\s{0,3}[|/+&:]\s{0,3}")
_GAP = regex.compile(r"[\s\-]+")


def parse_value(key: str, raw: str) -> str | None:
    """The value of `key` in its one spelling, or None where `raw` is not of the closed set.

    A verdict comes without the "CHAT:" scope and in the order kind, temperature: "CHAT_ONLY|WARM", "HOT".
    """
    if len(raw) > 120:
        return None
    value = raw.strip(_EDGES).upper()
    match key:
        case "VERDICT":
            return _verdict(_CHAT_PREFIX.sub("", value))
        case "TASK":
            word = _GAP.sub("_", value)
            return word if word in TASKS else None
        case "STAGE":
            word = _GAP.sub("_", value)
            return word if word in STAGES else None
        case _:
            return None


def _verdict(value: str) -> str | None:
    words = [_GAP.sub("_", word.strip(_EDGES)) for word in _JOINT.split(value)]
    kinds = [word for word in words if word in VERDICT_KINDS]
    temperatures = [word for word in words if word in TEMPERATURES]
    if len(kinds) + len(temperatures) != len(words) or len(kinds) > 1 or len(temperatures) > 1:
        return None  # also the whole list of choices copied from the instruction
    return "|".join(kinds + temperatures) or None
