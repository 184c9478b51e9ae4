"""Two intents of a customer that need no model: "call a human" and "stop writing to me".

Narrow on purpose: the whole burst must be the intent, give or take politeness. "Is your operator on holiday?" is a
question, and a false alarm here silences a bot that could have answered.
"""

import re
from collections.abc import Sequence
from enum import StrEnum


class Intent(StrEnum):
    HUMAN = "human"
    OPT_OUT = "opt_out"


# Said around an intent without changing it.
_POLITE = (
    r"(?:пожалуйста|плиз|будьте добры|здравствуйте|привет|алло|добр(?:ый|ое|ого) (?:день|вечер|утр[оа]|дня)|девушка"
    r"|можно|можете|могу|а|и|но|я|мне|меня|нам|хочу|хотел[аи]?|бы|просто|лучше|срочно|уже|тут|здесь|у вас|есть|ли|кто"
    r"|please|hi|hello|hey|there|here|is|are there|can|could|i|i'd|would|like|want|need|have|just|let|me|us|to)"
)
# Asking for contact: with these any of a shop's people may be meant.
_CONTACT = (
    r"(?:позов\w+|вызов\w+|соедин\w+|переключ\w+|перевед\w+|свяж\w+|связаться|(?:по)?говорить|(?:по)?общаться"
    r"|connect|transfer|put|pass|call|get|(?:talk|speak|chat) (?:to|with))"
)
_LINKS = r"(?:с|со|на|к|дай(?:те)?|нуж(?:ен|на|но|ны)|a|an|the|your|some|any|with|through|customer|support|service)"
# Asked for by the bare word, as the bot itself proposes; a trade alone ("менеджер") answers another question.
_HUMAN = re.compile(
    r"\b(?:оператор(?:а|у|ом|ы|ов)?|(?:жив(?:ой|ого|ому|ым) )?(?:человек(?:а|у|ом)?)|жив(?:ые|ых|ыми) люд(?:и|ей|ьми)"
    r"|(?:кто|кого|кем|кому)(?: нибудь| то)? жив(?:ой|ого|ому|ым)"
    r"|operator|human(?: being)?|(?:real|live|actual) (?:human|person|agent|people|someone)|person)\b"
)
_STAFF = re.compile(
    r"\b(?:(?:менеджер|администратор|консультант|специалист|сотрудник|директор)(?:а|у|ом|ами?)?|руководител(?:я|ю|ем)"
    r"|(?:кем|кому|кого)(?: нибудь| то)"
    r"|manager|agent|representative|someone|somebody|anyone|supervisor)\b"
)
_NO_BOT = re.compile(
    r"\bне (?:хочу|буду|желаю|надо|нужно) (?:\w+ )?с (?:ботом|роботом|машиной|автоответчиком)\b"
    r"|\b(?:do not|don't|dont) want to (?:talk|speak|chat) (?:to|with) (?:a |the )?(?:bot|robot|machine)\b"
)
_OPT_OUT = re.compile(
    r"стоп|stop|отпиш(?:и|ите)(?: меня)?(?: от рассылки)?|отписаться(?: от рассылки)?|отписка|unsubscribe(?: me)?"
    r"|(?:мне )?(?:больше )?(?:мне )?не (?:пиши|пишите|присылай|присылайте|шли|шлите|беспокой|беспокойте)"
    r"(?: мне)?(?: больше)?(?: сообщени[яй]| ничего| рассылку)?"
    r"|(?:хватит|прекрати(?:те)?|перестань(?:те)?)(?: мне)? (?:писать|слать|присылать|спамить|беспокоить)"
    r"(?: мне| меня)?(?: сообщения)?"
    r"|(?:удалите|уберите|исключите) меня из рассылки|отстаньте(?: от меня)?"
    r"|(?:do not|don't|dont|stop) (?:write|writing|message|messaging|text|texting|contact|contacting|spam|spamming)"
    r"(?: to)?(?: me)?(?: again| anymore| any more)?"
    r"|stop sending(?: me)?(?: messages| texts)?|opt(?: me)? out|leave me alone|remove me(?: from (?:the|your) list)?"
)
_AROUND = re.compile(rf"\b(?:{_POLITE}|{_LINKS}|{_CONTACT})\b")
_ASKS_FOR_CONTACT = re.compile(rf"\b{_CONTACT}\b")
# What may stand around a request to be left alone; "я" and "мне" belong to it.
_LEAD_IN = re.compile(
    r"\b(?:пожалуйста|плиз|здравствуйте|привет|добрый (?:день|вечер)|спасибо|хочу"
    r"|please|hi|hello|hey|thanks|i want to)\b"
)


def intent_of(texts: Sequence[str]) -> Intent | None:
    """What the newest line of a burst asks for; older lines do not unsay it."""
    for text in reversed(texts):
        folded = text.casefold().replace("ё", "е").replace("\u2019", "'")
        words = " ".join(re.sub(r"[^\w\s']+", " ", folded).split())
        if not words or len(words) > 80:
            continue
        if _OPT_OUT.fullmatch(words) or _OPT_OUT.fullmatch(_squeezed(_LEAD_IN.sub(" ", words))):
            return Intent.OPT_OUT
        if _wants_human(words):
            return Intent.HUMAN
    return None


def _wants_human(words: str) -> bool:
    rest, refused = _NO_BOT.subn(" ", words)
    rest, humans = _HUMAN.subn(" ", rest)
    staff = 0
    if _ASKS_FOR_CONTACT.search(words):
        rest, staff = _STAFF.subn(" ", rest)
    return bool(refused or humans or staff) and not _AROUND.sub(" ", rest).strip()


def _squeezed(text: str) -> str:
    return " ".join(text.split())
