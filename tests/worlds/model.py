"""The model as a world needs it: an answer in words that no other answer has, or one of the ways to give none."""

import random

import httpx

from tests.worlds.meta import answer

TAGS = "[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]"
_THINGS = ("кружку", "чашку", "вазу", "тарелку", "миску", "чайник", "кувшин", "блюдо", "пиалу", "сахарницу")
_LOOKS = ("с лисой", "с горами", "с рыбами", "с листьями", "с облаками", "с ягодами", "с птицами", "с морем")
_WAYS = ("охотно", "подробно", "с радостью", "не спеша", "по порядку", "честно", "коротко", "спокойно")
_MORE = (
    "Её лепят вручную в нашей мастерской, поэтому каждая немного отличается от соседней.",
    "Глазурь ложится неровно, и рисунок выходит живым, будто его вела кисть.",
    "Такую посуду можно греть и мыть как обычно, она служит много лет.",
    "Если хочется подарить её близкому человеку, мы бережно упакуем и приложим открытку.",
    "Расскажите, для кого выбираете, и я подскажу, какая форма подойдёт лучше.",
    "Ещё у нас бывают занятия, где можно слепить что-то своё под присмотром мастера.",
)
FAULTS = ("empty", "error", "broken", "garbage")


def words(number: int) -> str:
    """The `number`-th answer, different from all others."""
    number, thing = divmod(number, len(_THINGS))
    number, looks = divmod(number, len(_LOOKS))
    return f"Расскажу {_WAYS[number % len(_WAYS)]} про {_THINGS[thing]} {_LOOKS[looks]}."


def reply(number: int, chance: random.Random) -> str:
    """One part, or so many words that a channel takes them in two or three."""
    if chance.random() < 0.6:
        return words(number)
    more = " ".join(chance.sample(_MORE, len(_MORE)))
    return f"{words(number)} {more}\n\n{words(number + 1)} {more}"


def completion(text: str) -> httpx.Response:
    message = {"role": "assistant", "content": text}
    return answer(
        {
            "id": "gen-world",
            "model": "deepseek/deepseek-v4-pro",
            "provider": "World",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 50, "cost": 0.0001},
        }
    )


def failure(name: str) -> httpx.Response:
    match name:
        case "empty":
            return completion("")
        case "error":
            return answer({"error": {"code": 500, "message": "Internal"}}, 500)
        case "garbage":
            return httpx.Response(200, content=b"<html>", headers={"content-type": "text/html"})
        case _:
            raise AssertionError(f"no such failure: {name}")
