"""The stand-in's own mind: a shop assistant that is always the same, and knows the demo's scenes by their words."""

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from sandbox.model.answers import Answer, ChatRequest, tool_call
from sandbox.model.rules import text_of

TAGS: Final = "[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]"
TAGS_COLLEAGUE: Final = "[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:MESSAGE] [STAGE:CONSULT]"

# What the demo's customers write, by scene and language. A scene is known by these words anywhere in the message.
SMALL_TALK: Final = "small_talk"
CATALOGUE: Final = "catalogue"
LOCKED_ONCE: Final = "reasoning_lock_once"  # nothing but thoughts, until the request carries a kick
LOCKED_FOR_GOOD: Final = "reasoning_lock_for_good"  # nothing but thoughts, from every model and rung
MAIN_MODEL_LOCKED: Final = "main_model_locked"  # nothing but thoughts from the first model asked; another one answers
TOOL_HUNGRY: Final = "tool_hungry"  # searches on and on, until tools are forbidden
DEMO_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    SMALL_TALK: {
        "ru": "Здравствуйте! Просто хотела сказать, что у вас очень уютно",
        "en": "Hi there! Just wanted to say your studio looks lovely",
    },
    CATALOGUE: {
        "ru": "Добрый день, сколько стоит кружка «Туман»?",
        "en": "Hello, how much is the Mist mug?",
    },
    LOCKED_ONCE: {
        "ru": "Посоветуйте подарок для мамы, она любит чай и тишину",
        "en": "Could you suggest a gift for my mum, she loves tea and quiet evenings",
    },
    LOCKED_FOR_GOOD: {
        "ru": "Мне вчера приснилось, что моя ваза разбилась. К чему бы это?",
        "en": "I dreamt last night that my vase broke. What could it mean?",
    },
    MAIN_MODEL_LOCKED: {
        "ru": "Хочу попробовать лепить, но боюсь, что руки не оттуда растут",
        "en": "I want to try pottery but I am afraid I have two left hands",
    },
    TOOL_HUNGRY: {
        "ru": "Сравните все ваши кружки и курсы и скажите, что лучше для новичка",
        "en": "Compare all your mugs and courses and tell me what is best for a beginner",
    },
}

_PRICE_WORDS: Final = re.compile(
    r"сколько|цен[аыуе]|стои[тм]|прайс|каталог|налич|размер|достав|расписан|адрес|"
    r"how much|price|cost|catalog|in stock|size|deliver|shipping|schedule|address|"
    r"скільки|ціна|коштує|қанша|бағасы",
    re.IGNORECASE,
)
_SMALL_TALK: Final[Mapping[str, str]] = {
    "ru": "Спасибо, что написали! Мы с радостью подскажем по посуде и занятиям. Что вам сейчас ближе?",
    "en": "Thank you for writing! We are happy to help with tableware and classes. What do you have in mind?",
    "uk": "Дякуємо, що написали! Залюбки підкажемо щодо посуду та занять. Що вам зараз ближче?",
    "kk": "Жазғаныңызға рақмет! Ыдыс пен сабақтар туралы қуана айтып береміз. Сізге не қызық?",
}
# What the assistant says to the scenes that need no search: on the customer's own topic, as stage 4 asks for.
_SCENE_REPLIES: Final[Mapping[str, Mapping[str, str]]] = {
    SMALL_TALK: {
        "ru": "Как приятно, спасибо! Уют у нас держится на глине, чае и хороших людях. Заглянете к нам в гости?",
        "en": "How kind of you, thank you! Clay, tea and good people keep it cosy here. Will you drop by one day?",
    },
    LOCKED_ONCE: {
        "ru": "Какой тёплый подарок! К чаю и тишине подойдёт большая кружка или чайная пара. Какие цвета мама любит?",
        "en": "What a warm idea! A large mug or a tea set goes well with quiet evenings. Which colours does she like?",
    },
    MAIN_MODEL_LOCKED: {
        "ru": "Руки у всех оттуда! На пробном занятии мастер рядом, и первая чашка почти всегда удаётся. Рассказать?",
        "en": "Nobody's hands are wrong for clay! A teacher sits beside you at the trial class. Shall I tell you more?",
    },
}
_COMPARED: Final[Mapping[str, str]] = {
    "ru": "Сравнила, что успела найти: {found}. Новичку советую начать с занятия, а кружку выбрать уже на нём. "
    "Остальные курсы я посмотреть не успела: рассказать о них отдельно?",
    "en": "I compared what I could find: {found}. For a beginner I would start with a class and choose the mug there. "
    "I have not looked at the other courses yet: shall I tell you about them, too?",
}
_FOUND: Final[Mapping[str, str]] = {
    "ru": "Вот что нашлось у нас: {found}. Подсказать что-нибудь ещё?",
    "en": "Here is what we have: {found}. Can I help with anything else?",
    "uk": "Ось що знайшлося: {found}. Підказати ще щось?",
    "kk": "Міне, тапқанымыз: {found}. Тағы бірдеңе айтайын ба?",
}
_LOOK: Final[Mapping[str, str]] = {"ru": "Посмотреть", "en": "Have a look", "uk": "Подивитися", "kk": "Көру"}
_NOT_FOUND: Final[Mapping[str, str]] = {
    "ru": "Этого я у нас не нашла, но коллега посмотрит и ответит вам.",
    "en": "I could not find this here, but a colleague will look and write to you.",
    "uk": "Цього я в нас не знайшла, але колега подивиться й відповість вам.",
    "kk": "Мұны таба алмадым, бірақ әріптесім қарап, сізге жазады.",
}
_THINKING_TWICE: Final = (
    "The customer has written something warm. I could answer from stage 4, or should I look into stage 1 first? "
    "Let me weigh this once more before I say a word. On the other hand, a question would be polite. Let me think. "
)
PROMPTS: Final = Path(__file__).resolve().parents[2] / "prompts"
_QUERIES: Final = ("кружка", "курс", "занятие", "чашка", "новичок", "гончарный круг", "подарок", "набор")


class ShopAssistant:
    """Answers any request that passed the rules. It remembers only which model was asked first about a scene."""

    def __init__(self, prompts: Path = PROMPTS) -> None:
        self._kicks = [_literal(path.read_text(encoding="utf-8")) for path in sorted(prompts.glob("*/kick-*.md"))]
        self._first_model: dict[str, str] = {}

    def answer(self, request: ChatRequest) -> Answer:
        said = self._said(request)
        scene = _scene_of(said)
        if scene == LOCKED_FOR_GOOD or (scene == LOCKED_ONCE and not self.is_kicked(request)):
            return _LOCKED
        if scene == MAIN_MODEL_LOCKED and request.model == self._first_model.setdefault(scene, request.model):
            return _LOCKED
        if scene == TOOL_HUNGRY and request.may_call_tools:
            return _search(_next_query(request), request)
        found = _found(request)
        if not found and _PRICE_WORDS.search(said) and request.may_call_tools:
            return _search(_query_of(said), request)
        language = _language_of(said)
        if not found:
            reply = _SCENE_REPLIES.get(scene or "", {}).get(language) or _SMALL_TALK[language]
            return Answer(content=f"{reply}\n{TAGS}")
        if facts := _facts_of(found, language):
            if scene == TOOL_HUNGRY and language in _COMPARED:
                return Answer(content=f"{_COMPARED[language].format(found='; '.join(facts))}\n{TAGS}")
            link = f"\n[LINK: {_LOOK[language]} | {page}]" if (page := _page_of(found)) else ""
            return Answer(content=f"{_FOUND[language].format(found='; '.join(facts))}{link}\n{TAGS}")
        return Answer(content=f"{_NOT_FOUND[language]}\n{TAGS_COLLEAGUE}")

    def is_kicked(self, request: ChatRequest) -> bool:
        """One of the kicks of `prompts/` stands somewhere in the request."""
        everything = _squeezed(" ".join(text_of(message.get("content")) for message in request.messages))
        return any(kick in everything for kick in self._kicks)

    def _said(self, request: ChatRequest) -> str:
        """The customer's words without a kick beside them, which may be in another language."""
        said = _squeezed(request.customer)
        for kick in self._kicks:
            said = said.replace(kick, " ")
        return said


_LOCKED: Final = Answer(content="", reasoning=_THINKING_TWICE * 3)


def _search(query: str, request: ChatRequest) -> Answer:
    call = tool_call("search_knowledge", {"query": query}, call_id=f"call_{request.number}")
    return Answer(tool_calls=[call], finish_reason="tool_calls")


def _next_query(request: ChatRequest) -> str:
    """Two words that were not searched together before, so that the agent does not take it for a repeated call."""
    done = sum(message["role"] == "tool" for message in request.messages)
    turn, first = divmod(done, len(_QUERIES))
    return f"{_QUERIES[first]} {_QUERIES[(first + turn + 1) % len(_QUERIES)]}"


def _scene_of(text: str) -> str | None:
    squeezed = _squeezed(text)
    for scene, texts in DEMO_TEXTS.items():
        if any(_squeezed(words) in squeezed for words in texts.values()):
            return scene
    return None


def _query_of(text: str) -> str:
    words = [word for word in re.findall(r"\w+", text) if len(word) > 2 and not _PRICE_WORDS.search(word)]
    return " ".join(words[-3:]) or text.strip()[:60]


def _found(request: ChatRequest) -> list[str]:
    """Results of searches, also those that a flattened history tells as user text."""
    results = [text_of(message.get("content")) for message in request.messages if message["role"] == "tool"]
    return [*results, request.customer] if "price_rub" in request.customer else results


def _facts_of(results: list[str], language: str) -> list[str]:
    """Titles with their prices, as the search gave them, at most three."""
    facts: dict[str, None] = {}
    for result in results:
        lines = [line.strip(" -•#\t") for line in result.splitlines() if line.strip()]
        for title, details in pairwise(lines):
            if price := re.search(r"price_rub\W{1,3}(\d+)", details):
                english = re.search(r"name_en\W{1,3}([^;\n]+)", details) if language == "en" else None
                name = english[1].strip() if english else re.sub(r"^\d+\.\s*", "", title.split(" / ")[0])
                facts[f"{name} — {price[1]} ₽"] = None
    return list(facts)[:3]


def _page_of(results: list[str]) -> str:
    """The page of what was found first, if that has one."""
    first = results[0].split("\n\n", 1)[0]
    return found[1] if (found := re.search(r"\blink: (https://[^\s;]+)", first)) else ""


def _language_of(text: str) -> str:
    if re.search(r"[әғқңөұүһ]", text, re.IGNORECASE):
        return "kk"
    if re.search(r"[їєґі]", text, re.IGNORECASE):
        return "uk"
    return "ru" if re.search(r"[а-яё]", text, re.IGNORECASE) or not re.search(r"[a-z]", text, re.IGNORECASE) else "en"


def _literal(template: str) -> str:
    """The longest stretch of a prompt file that holds no variable."""
    return max((_squeezed(part) for part in re.split(r"\{[{%#].*?[}%#]\}", template, flags=re.DOTALL)), key=len)


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())
