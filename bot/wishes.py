"""Two wishes of a customer that need no model: "call a human" and "stop writing to me".

Narrow on purpose: the whole burst must be the wish, give or take politeness. "Is your operator on holiday?" is a
question, and a false alarm here silences a bot that could have answered.
"""

import re
from collections.abc import Sequence
from enum import StrEnum


class Wish(StrEnum):
    HUMAN = "human"
    OPT_OUT = "opt_out"


_POLITE = (
    r"(?:пожалуйста|плиз|здравствуйте|привет|добрый (?:день|вечер)|можно|а|и|мне|хочу"
    r"|please|hi|hello|hey|can i|could i|i|want|need|to)"
)
_PERSON = re.compile(
    r"\b(?:оператор\w{0,2}|менеджер\w{0,2}|(?:жив(?:ой|ого|ому|ым) )?человек\w{0,2}"
    r"|operator|agent|manager|(?:real |live )?(?:human|person))\b"
)
_CALL = (
    r"(?:позов\w+|вызов\w+|соедин\w+|переключ\w+|дай\w*|нуж\w+|поговорить|связаться|с|со|на"
    r"|connect me (?:with|to)|call|get me|(?:talk|speak) (?:to|with)|a|an|the|your)"
)
_OPT_OUT = re.compile(
    r"(?:стоп|stop|отпис\w+|unsubscribe|не пиши(?:те)?(?: мне)?(?: больше)?|больше не пиши(?:те)?(?: мне)?"
    r"|(?:do not|don't|dont|stop) (?:write|message|messaging|texting|writing|contact|text)(?: to)?(?: me)?"
    r"(?: again| anymore)?)"
)
_FILLER = re.compile(rf"\b(?:{_POLITE}|{_CALL})\b")


def wish_of(texts: Sequence[str]) -> Wish | None:
    """What the newest line of a burst asks for; older lines do not unsay it."""
    for text in reversed(texts):
        words = re.sub(r"[^\w\s']+", " ", text.casefold().replace("ё", "е")).strip()
        if not words or len(words) > 80:
            continue
        if _OPT_OUT.fullmatch(re.sub(rf"\b(?:{_POLITE})\b", " ", words).strip()) or _OPT_OUT.fullmatch(words):
            return Wish.OPT_OUT
        if _PERSON.search(words) and not _FILLER.sub(" ", _PERSON.sub(" ", words)).strip():
            return Wish.HUMAN
    return None
