"""What a message was about, as a few stems: enough to see a topic that returns, too little to know who asked."""

import re

from worker.agent.word_forms import COMMON, stem_of, words_of

MOST_KEYWORDS = 8
_CONTACT_SIGN = re.compile(r"[@/\d]")
_CONTACT = re.compile(r"\S*[@/]\S*|\S*\d\S*")
_NAMED = re.compile(
    r"(?i:\b(?:меня зовут|мо[её] имя|мене звати|my name is|i am|i'm|call me|adım|ismim|менің атым))\s+"
    r"\w+(?:\s+[A-ZА-ЯЁІЇЄҐ]\w+)*"
)
_INSIDE_A_SENTENCE = re.compile(r"(?<=[\w,;:]\s)[A-ZА-ЯЁІЇЄҐӘҒҚҢӨҰҮҺ][^\W\d_]+")
_COURTESY = frozenset(
    """привет здравствуйте здравствуй добрый день вечер утро спасибо пожалуйста ага ок окей хорошо ладно понятно
    hello hi hey good morning evening thanks thank please okay yes no fine""".split()  # noqa: SIM905
)


def keywords_of(text: str) -> list[str]:
    """At most eight stems in the order of the text: no numbers, no contacts, no names as far as they can be told."""
    text = _CONTACT.sub(" ", text) if _CONTACT_SIGN.search(text) else text
    text = _INSIDE_A_SENTENCE.sub(" ", _NAMED.sub(" ", text))
    stems = (stem_of(w) for w in words_of(text) if len(w) > 2 and w not in COMMON and w not in _COURTESY)
    return list(dict.fromkeys(stems))[:MOST_KEYWORDS]
