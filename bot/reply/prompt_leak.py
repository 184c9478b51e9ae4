"""Did the model recite its instructions? Long runs of words shared with the prompt, by exact match."""

from functools import lru_cache

import regex

_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}]+")

# Shorter runs are shared by chance, or because a reply has to name what the prompt names.
_RUN_WORDS = 12
_RUN_CHARS = 80
_KICK_WORDS = 6
_PARROT_QUESTION_WORDS = 3
_PARROT_WORDS = 9


def leaks_prompt(reply: str, system_prompt: str, quotable: str = "") -> bool:
    """A run of at least 12 words or 80 characters of `system_prompt`, unless `quotable` has it too."""
    if not system_prompt:
        return False
    shared = _runs(reply, _RUN_WORDS, _RUN_CHARS) & _steady_runs(system_prompt, _RUN_WORDS, _RUN_CHARS)
    return bool(shared and shared - _runs(quotable, _RUN_WORDS, _RUN_CHARS))


def leaks_kick(reply: str, kick: str, customer_text: str = "") -> bool:
    """A run of six words of the nudge that the customer did not write."""
    shared = _runs(reply, _KICK_WORDS, _RUN_CHARS) & _runs(kick, _KICK_WORDS, _RUN_CHARS)
    return bool(shared and shared - _runs(customer_text, _KICK_WORDS, _RUN_CHARS))


def parrots(reply: str, customer_text: str) -> bool:
    """The customer's own words and nothing else. Short ones and good wishes may be given back: "С Новым годом!"."""
    first, customers_first = _WORD.search(reply), _WORD.search(customer_text)
    if first is None or customers_first is None or first[0].casefold() != customers_first[0].casefold():
        return False
    words = _WORD.findall(reply.casefold())
    least = _PARROT_QUESTION_WORDS if "?" in customer_text or "؟" in customer_text else _PARROT_WORDS
    return len(words) >= least and words == _WORD.findall(customer_text.casefold())


def _runs(text: str, most_words: int, most_chars: int) -> frozenset[str]:
    """From each word on, the shortest run that reaches either measure; equal words give equal runs."""
    words = [word.casefold() for word in _WORD.findall(text)]
    runs: set[str] = set()
    end = length = 0
    for start, word in enumerate(words):
        while end < len(words) and end - start < most_words and length < most_chars:
            length += len(words[end]) + 1
            end += 1
        if end - start < most_words and length < most_chars:
            break
        runs.add(" ".join(words[start:end])[:400])
        length -= len(word) + 1
    return frozenset(runs)


# A system prompt is the same for many turns.
_steady_runs = lru_cache(maxsize=16)(_runs)
