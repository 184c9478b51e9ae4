"""Thoughts that a host left in the text: think tags of every shape, channel markers, leftover control tokens."""

from dataclasses import dataclass
from enum import Enum, auto

import regex

from bot.text.keyed_patterns import KeyedPattern

_NAMES = r"(?:ant|antml:|seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|inner_monologue)"

_TOKEN = KeyedPattern(
    rf"""
      (?P<tag>(?:<|&lt;|\uFF1C|\u25C1)\s?(?P<slash>/?)\s?{_NAMES}(?:\s[^<>\n=]{{0,80}}=[^<>\n]{{0,200}})?\s?(?P<self>/?)
              (?:>|&gt;|\uFF1E|\u25B7|\Z))
    | (?P<square>\[(?P<square_slash>/?)think(?:ing)?\])
    | (?P<edge><\|(?P<side>begin|end)_of_(?:thoughts?|thinking)\|>)
    | (?P<final><\|begin_of_solution\|>
        | <\|?channel\|?>\s{{0,3}}(?:final|answer|response)\b(?:[^\n<]{{0,40}}<\|?message\|?>)?)
    | (?P<channel><\|?channel\|?>\s{{0,3}}(?:analysis|commentary|thoughts?|thinking|reasoning)\b
        (?:[^\n<]{{0,80}}<\|?constrain\|?>[^\n<]{{0,40}}|[^\n<]{{0,80}})?(?:<\|?message\|?>)?)
    | (?P<close><channel\|>)
    | (?P<end><\|(?:end|start)\|>(?:assistant\b)?)
    """,
    regex.VERBOSE | regex.IGNORECASE,
    keys="<, &lt;, \uff1c, \u25c1, [think, [/think",
)

# Where the model went on and played the customer's next turn: nothing after this is ours.
_NEXT_TURN = KeyedPattern(
    r"(?<=\S\s{0,9})\n[ \t]*(?:\#{2,3}[ ]?)?(?:Human|Instruction)[ ]?:|<\|user\|>"
    r"|<\|im_start\|>\s?user|<start_of_turn>\s?user|<\uFF5CUser\uFF5C>|<\|start_header_id\|>\s?user",
    keys="human, instruction, <",
)

_CONTROL = KeyedPattern(
    r"<\|im_start\|>(?:\s?assistant\b)?|<\|start_header_id\|>(?:\s?assistant\b)?|<start_of_turn>(?:\s?model\b)?"
    r"|<\|(?:im_end|endoftext|eot_id|eom_id|end_of_text|begin_of_text|end_header_id|return|message|end_of_solution"
    r"|assistant)\|>|<end_of_turn>|</s>|\A\s*<s>|\[/?INST\]|<\uFF5C(?:Assistant|begin▁of▁sentence|end▁of▁sentence)\uFF5C>",
    keys="<, inst]",
)


class _Kind(Enum):
    OPEN = auto()
    CLOSE = auto()
    FINAL = auto()  # the answer starts here, whatever came before
    END = auto()  # ends a channel, means nothing elsewhere
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class WithoutThoughts:
    """`text` is what was meant for the customer, `thoughts` the rest, `rules` the shapes that were met."""

    text: str
    thoughts: str
    rules: tuple[str, ...]


def strip_thoughts(text: str) -> WithoutThoughts:
    """Part the thoughts from the answer.

    Balanced blocks go wherever they stand. After an orphan closing tag only what follows it is answer; after an
    opening tag that is never closed nothing is.
    """
    rules: tuple[str, ...] = ()
    next_turn = _NEXT_TURN.search(text)
    if next_turn:
        text, rules = text[: next_turn.start()], ("control_token",)
    head, marker, final = text.rpartition("assistantfinal")  # gpt-oss where the host dropped the special tokens
    if marker and head.lstrip().startswith("analysis"):
        return _without_control(final, head, (*rules, "channel"))
    tokens = [(match, _kind(match)) for match in _TOKEN.find_all(text)]
    if not tokens:
        return _without_control(text, "", rules)

    nested = _is_balanced([kind for _, kind in tokens])
    kept: list[str] = []
    thoughts: list[str] = []
    depth = position = 0
    shapes: set[str] = set()
    for match, kind in tokens:
        (thoughts if depth else kept).append(text[position : match.start()])
        position = match.end()
        shapes.add("channel" if match["tag"] is None and match["square"] is None else "think")
        match kind:
            case _Kind.OPEN:
                depth = depth + 1 if nested else 1
            case _Kind.CLOSE if depth:
                depth = depth - 1 if nested else 0
            case _Kind.CLOSE:
                shapes.add("orphan_think")
                thoughts, kept = thoughts + kept, []
            case _Kind.FINAL:
                thoughts, kept, depth = thoughts + kept, [], 0
            case _Kind.END:
                depth = 0
            case _Kind.NOTHING:
                pass
    (thoughts if depth else kept).append(text[position:])
    if depth:
        shapes.add("unclosed_think")
    thinking = "\n".join(filter(None, map(str.strip, thoughts)))
    return _without_control(_join(kept), thinking, (*rules, *sorted(shapes)))


def _without_control(text: str, thoughts: str, rules: tuple[str, ...]) -> WithoutThoughts:
    without = _CONTROL.sub("", text)
    return WithoutThoughts(without, thoughts, rules if without == text else (*rules, "control_token"))


def _kind(match: "regex.Match[str]") -> _Kind:
    if match["tag"]:
        if match["self"]:
            return _Kind.NOTHING
        return _Kind.CLOSE if match["slash"] else _Kind.OPEN
    if match["square"]:
        return _Kind.CLOSE if match["square_slash"] else _Kind.OPEN
    if match["edge"]:
        return _Kind.OPEN if match["side"].casefold() == "begin" else _Kind.CLOSE
    if match["final"]:
        return _Kind.FINAL
    if match["channel"]:
        return _Kind.OPEN
    return _Kind.CLOSE if match["close"] else _Kind.END


def _is_balanced(kinds: list[_Kind]) -> bool:
    """Only then may nesting be counted: thoughts that quote "<think>" would otherwise swallow the answer."""
    depth = 0
    for kind in kinds:
        depth += {_Kind.OPEN: 1, _Kind.CLOSE: -1}.get(kind, 0)
        if depth < 0:
            return False
    return depth == 0


def _join(pieces: list[str]) -> str:
    joined: list[str] = []
    for piece in pieces:
        tight = bool(joined) and joined[-1][-1:] in {" ", "\n"} and piece[:1] == " "
        if piece:
            joined.append(piece[1:] if tight else piece)
    return "".join(filter(None, joined))
