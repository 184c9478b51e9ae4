"""How much work the judging of a hostile text may be."""

import pytest

from bot.reply.splitting import split_text
from bot.reply.validation import ReplyContext, judge
from tests.bot.reply.judged import KICK, R, outcome, said
from tests.growth import MOST, growth

HOSTILE = [
    "a",
    " ",
    "*",
    "**a",
    "_a ",
    "[",
    "[a](http://x",
    "<",
    "<think>",
    "<thi<think>nk>",
    '{"reply":',
    "\\",
    "[VERDICT:",
    "[VERDICT:HOT ",
    "[TASK:[TASK:",
    "\u200d",
    "\u0301",
    "\u0800\u0301",
    ". ",
    "один момент ",
    "((((",
    "<b =",
    "\n",
    "at a(",
    "x@",
    "ЭТАП: ",
    "中",
    "\\*",
    "|-",
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", HOSTILE)
def test_the_work_of_judging_a_hostile_text_grows_with_its_length(seed: str) -> None:
    def act(text: str) -> None:
        judge(said(text), ReplyContext(text, text[:20_000], kick=KICK))
        split_text(text, max_bytes=1000)

    assert growth(act, lambda size: seed * (size // len(seed)), 8_000) <= MOST


def test_of_more_than_a_reply_may_have_nothing_is_judged() -> None:
    assert outcome(judge(said("[" * 60_001), ReplyContext("", ""))) == (R, "too_long")
