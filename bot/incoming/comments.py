"""Does a comment under a post ask for a private reply? By the words that the configuration names."""

import unicodedata
from collections.abc import Iterable

import regex

from bot.incoming.events import Comment

# A comment may be answered for seven days; the last hour is left to the clocks of others.
OPEN_MS = 7 * 24 * 3600 * 1000 - 3600 * 1000

_WORD = regex.compile(r"[\p{L}\p{N}]+|[+]")


def wants_private_reply(comment: Comment, keywords: Iterable[str]) -> bool:
    """Whole words in their order, whatever their case; the keyword "*" stands for any comment."""
    words = _words(comment.text)
    return any(keyword.strip() == "*" or _holds(words, _words(keyword)) for keyword in keywords)


def may_reply_privately(comment_at_ms: int, now_ms: int) -> bool:
    return now_ms - comment_at_ms < OPEN_MS


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")
    return [str(word) for word in _WORD.findall(folded)]


def _holds(words: list[str], wanted: list[str]) -> bool:
    size = len(wanted)
    return bool(size) and any(words[at : at + size] == wanted for at in range(len(words) - size + 1))
