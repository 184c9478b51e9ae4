"""The validator: could a customer be sent this? Judged by what can be read, not by `finish_reason`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bot.model_output import Completion
from bot.reply.degeneration import is_garbled, is_looping, is_said_twice
from bot.reply.hygiene import Cleaned, clean
from bot.reply.machine_text import (
    has_placeholder,
    has_tool_syntax,
    is_json_wrapper,
    is_machine_text,
    is_refusal,
    is_sentinel,
    names_its_maker,
)
from bot.reply.non_answers import announces_a_lookup, is_monologue, plays_both_sides, without_kick
from bot.reply.prompt_leak import leaks_kick, leaks_prompt, parrots
from bot.reply.tags import TaggedReply, parse_tags
from bot.text.language import disagrees
from bot.text.sentences import trim_to_last_sentence
from bot.text.visible import is_blank, visible_text
from bot.verdict import Verdict

# What a cut reply must still say to be worth sending.
_LEAST_CUT_CHARS = 40

# A server that stopped at once writes the end token and little else.
_NEXT_TO_NO_TOKENS = 3

# More than this is not read in a direct message, and far more is no reply at all.
_MOST_CHARS = 4000
_MOST_RAW_CHARS = 60_000

_DRAFT_MARKS = ("draft", "черновик", "чернетка", "草稿", "回复：", "response:", "reply:", "ответ:")


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What a reply is judged against.

    `customer_text` is the customer's latest words; `kick` the nudge that this request carried, if any; `quotable` the
    parts of the prompt that are meant to be said (scripts, worked examples, facts about the business).
    """

    customer_text: str
    system_prompt: str
    kick: str = ""
    last_step: bool = False
    previous_stage: str = "CONSULT"
    tool_names: tuple[str, ...] = ()
    quotable: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`rule` names the finding ("ok" for none) and stays stable for telemetry.

    `reply` is set whenever there is text without leaks: with SUCCESS, and with rules under which the text may still be
    better than nothing ("announced_tool", "wrong_language", "length_cut"). `cut` says that a length limit took the
    end. `hint` tells the next request what to ask for: "shorter", "plain_words", "write_prepared",
    "language:<code>", or nothing.
    """

    verdict: Verdict
    rule: str
    reply: TaggedReply | None = None
    cut: bool = False
    hint: str = ""


def judge(completion: Completion, context: ReplyContext) -> Judgement:
    """Judge a completion that has no tool calls to run; calls made on the last step are ignored.

    Every removal is followed by the question whether anything readable is left.
    """
    if completion.finish_reason == "content_filter":
        return Judgement(Verdict.FAILED_FALLBACK, "content_filter")
    if len(completion.content) > _MOST_RAW_CHARS:
        return Judgement(Verdict.RETRY_REQUIRED, "too_long", hint="shorter")
    if is_blank(completion.content):
        return _judge_silence(completion, _rule_of_blank(completion.content))

    cleaned = clean(completion.content)
    if is_blank(cleaned.text):
        return _judge_emptied(completion, cleaned, context)
    if not completion.complete:
        return Judgement(Verdict.RETRY_REQUIRED, "stream_cut")
    if has_tool_syntax(cleaned.text, context.tool_names):
        return Judgement(Verdict.RETRY_REQUIRED, "tool_syntax", hint="plain_words")

    reply = parse_tags(cleaned.text, previous_stage=context.previous_stage)
    if is_blank(reply.text):
        return Judgement(Verdict.RETRY_REQUIRED, "tags_only")
    if is_json_wrapper(reply.text):
        return Judgement(Verdict.RETRY_REQUIRED, "json_wrapper", hint="plain_words")
    unkicked = _without_kick(reply.text, context)
    if is_blank(unkicked):
        return Judgement(Verdict.RETRY_REQUIRED, "kick_leak")
    if unkicked != reply.text:
        reply = replace(reply, text=unkicked)
    return next(_machine_text(reply.text, context), None) or _judge_readable(completion, reply, context)


def _rule_of_blank(content: str) -> str:
    if not content:
        return "true_empty"
    if not content.strip():
        return "whitespace"
    return "markup_only" if visible_text(content) else "zero_width"


def _judge_silence(completion: Completion, rule: str) -> Judgement:
    """Nothing readable came: why, and would the same model do better?"""
    if not completion.complete:
        return Judgement(Verdict.RETRY_REQUIRED, "stream_cut")
    if completion.refusal:
        return Judgement(Verdict.FAILED_FALLBACK, "refusal")
    if completion.tool_calls:
        return Judgement(Verdict.RETRY_REQUIRED, "tool_call_on_last_step", hint="plain_words")
    if "MALFORMED" in (completion.native_finish_reason or "").upper():
        return Judgement(Verdict.EMPTY_NO_TOKENS, "malformed_call")
    thought = not is_blank(completion.reasoning) or completion.usage.reasoning_tokens > 0
    if completion.finish_reason == "length":
        return Judgement(Verdict.RETRY_REQUIRED, "budget_eaten", hint="shorter")
    if rule in {"zero_width", "markup_only", "tags_only", "unclosed_think"}:
        return Judgement(Verdict.RETRY_REQUIRED, rule)
    if thought:
        marked = any(mark in completion.reasoning[-4000:].casefold() for mark in _DRAFT_MARKS)
        return Judgement(Verdict.RETRY_REQUIRED, "reasoning_lock", hint="write_prepared" if marked else "")
    if completion.usage.completion_tokens <= _NEXT_TO_NO_TOKENS:
        return Judgement(Verdict.EMPTY_NO_TOKENS, rule)
    # Tokens were billed, yet neither text nor thought arrived: hidden thoughts, or a collapse onto our own filler.
    return Judgement(Verdict.RETRY_REQUIRED, "whitespace" if rule == "whitespace" else "empty_with_tokens")


def _judge_emptied(completion: Completion, cleaned: Cleaned, context: ReplyContext) -> Judgement:
    if not cleaned.thinking and has_tool_syntax(completion.content, context.tool_names):
        return Judgement(Verdict.RETRY_REQUIRED, "tool_syntax", hint="plain_words")
    if "unclosed_think" in cleaned.removed:
        return _judge_silence(completion, "unclosed_think")
    return _judge_silence(completion, "tags_only" if cleaned.thinking else "markup_only")


def _without_kick(text: str, context: ReplyContext) -> str:
    if context.kick and leaks_kick(text, context.kick, f"{context.customer_text}\n{context.quotable}"):
        return ""
    rest = without_kick(text, nudged=bool(context.kick))
    return text if rest is None else rest


def _machine_text(text: str, context: ReplyContext) -> Iterator[Judgement]:
    """What must never be shown, in order; the text itself is not handed on."""
    checks: tuple[tuple[str, Verdict, Callable[[str], bool]], ...] = (
        ("sentinel", Verdict.RETRY_REQUIRED, lambda t: is_sentinel(t, context.customer_text)),
        ("machine_text", Verdict.RETRY_REQUIRED, is_machine_text),
        ("refusal", Verdict.FAILED_FALLBACK, is_refusal),
        ("identity", Verdict.RETRY_REQUIRED, names_its_maker),
        ("prompt_leak", Verdict.RETRY_REQUIRED, lambda t: _recites(t, context)),
        ("parrot", Verdict.RETRY_REQUIRED, lambda t: parrots(t, context.customer_text)),
        ("monologue", Verdict.RETRY_REQUIRED, is_monologue),
        ("both_sides", Verdict.RETRY_REQUIRED, plays_both_sides),
        ("placeholder", Verdict.RETRY_REQUIRED, lambda t: has_placeholder(t, context.customer_text)),
        ("loop", Verdict.FAILED_FALLBACK, is_looping),
        ("garbled", Verdict.FAILED_FALLBACK, is_garbled),
    )
    for rule, verdict, is_found in checks:
        if is_found(text):
            yield Judgement(verdict, rule)


def _recites(text: str, context: ReplyContext) -> bool:
    return leaks_prompt(text, context.system_prompt, f"{context.quotable}\n{context.customer_text}")


def _judge_readable(completion: Completion, reply: TaggedReply, context: ReplyContext) -> Judgement:
    if is_said_twice(completion.content):  # tags included: they are doubled, too
        return Judgement(Verdict.FAILED_FALLBACK, "garbled")
    language = disagrees(reply.text, context.customer_text)
    if language is not None:
        return Judgement(Verdict.RETRY_REQUIRED, "wrong_language", reply, hint=f"language:{language}")
    if completion.finish_reason == "length":
        trimmed = replace(reply, text=trim_to_last_sentence(reply.text))
        if len(visible_text(trimmed.text)) >= _LEAST_CUT_CHARS and not is_blank(trimmed.text):
            return Judgement(Verdict.SUCCESS, "length_cut", trimmed, cut=True)
        return Judgement(Verdict.RETRY_REQUIRED, "length_cut", reply, cut=True, hint="shorter")
    if len(reply.text) > _MOST_CHARS:
        trimmed = replace(reply, text=trim_to_last_sentence(reply.text[:_MOST_CHARS]) or reply.text[:_MOST_CHARS])
        return Judgement(Verdict.SUCCESS, "too_long", trimmed, cut=True)
    if announces_a_lookup(reply.text):
        return Judgement(Verdict.RETRY_REQUIRED, "announced_tool", reply)
    return Judgement(Verdict.SUCCESS, "ok", reply)
