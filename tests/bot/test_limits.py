"""When a customer has cost enough, and who is a program: real rhythms of people beside those of machines."""

import random
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.limits import (
    AUTO_RESPONDER,
    COST,
    HOUR_MS,
    MECHANICAL,
    TURNS,
    Burst,
    Limited,
    Limits,
    PastTurn,
    Silent,
    TooMuch,
    Within,
    burst_of,
    decide,
    is_program,
    read_limited,
    read_turn,
    sketch_of,
    write_burst,
)

DAY_MS = 24 * HOUR_MS
NOON = 20_000 * DAY_MS + 12 * HOUR_MS
LIMITS = Limits(turns_per_hour=40, cost_per_day=0.5)
OUR_TURN_MS = 9_000  # quiet time, thinking and sending


class Says(NamedTuple):
    """A customer who answers our last reply after so many milliseconds."""

    text: str
    after_ms: int
    lasts_ms: int = 0  # until the last message of the burst


def caught_at(says: Sequence[Says]) -> int:
    """The turn (from 1) in which the customer is taken for a program, 0 for never."""
    past: list[PastTurn] = []
    now = NOON
    for number, (text, after_ms, lasts_ms) in enumerate(says, start=1):
        first = now + after_ms
        burst = burst_of([text], [first, first + lasts_ms])
        if is_program(burst, past):
            return number
        now = max(first + lasts_ms, now) + OUR_TURN_MS
        past.append(PastTurn(burst, now))
    return 0


AWAY = "Спасибо за ваше сообщение! Мы ответим вам в рабочее время."
OUT_OF_OFFICE = (
    "Здравствуйте! Сейчас {:02d}:{:02d}:{:02d}, {:02d}.12. Ваше обращение №{} принято, ответим в течение дня."
)
MENU = "Вас приветствует бот магазина. Выберите пункт: 1 каталог, 2 доставка, 3 оператор"
HELPERS = ("Я не понял ваш вопрос, переформулируйте, пожалуйста.", "К сожалению, я не могу помочь с этим вопросом.")

PROGRAMS: dict[str, list[Says]] = {
    "an auto-responder": [Says(AWAY, 300) for _ in range(20)],
    "one that is slow": [Says(AWAY, 25_000) for _ in range(20)],
    "one that answers before our reply is booked": [Says(AWAY, -200) for _ in range(20)],
    "out of office, with another time and ticket each": [
        Says(OUT_OF_OFFICE.format(n % 24, n % 60, (n * 7) % 60, n % 28 + 1, 1000 + n), 900) for n in range(20)
    ],
    "out of office that greets by another name": [
        Says(f"{name}, спасибо за сообщение! Я в отпуске до понедельника и отвечу, как только вернусь.", 2_000)
        for name, _ in zip(cycle(("Анна", "Пётр", "Кирилл")), range(20), strict=False)
    ],
    "a menu after every message": [Says(MENU, 1_400) for _ in range(20)],
    "two sentences in turns": [Says(HELPERS[n % 2], 700) for n in range(20)],
    "a bot with a model of its own": [
        Says(f"Ответ номер {'абвгдежзик'[n % 10] * (n + 3)} другой", 600) for n in range(20)
    ],
    "one whose words are an emoji": [Says("👍", 200) for _ in range(20)],
    "a business chat in English": [Says("Thank you for contacting us. We will get back to you soon!", 3_000)] * 20,
}

PEOPLE: dict[str, list[Says]] = {
    "short answers, typed fast": [Says(t, 1_600) for t in ("да", "да", "ок", "да", "ага", "ок", "да", "спс", "да")],
    "yes to everything": [Says("да", 2_500) for _ in range(15)],
    "a thumb up after each line": [Says("👍", 4_000) for _ in range(15)],
    "the same question, because the answer did not help": [Says("Сколько стоит кружка «Туман»?", 15_000)] * 5,
    "the same question through the day": [Says("Когда будет доставка моего заказа?", 3 * HOUR_MS)] * 12,
    "somebody who resends because nobody answered": [Says("Вы тут? Ответьте, пожалуйста, на мой вопрос", 300_000)] * 10,
    "question marks": [Says("?", 5_000) for _ in range(15)],
    "a chatterer whose words cross our replies now and then": [
        Says(text, (400, 5_000, 12_000)[n % 3], 6_000)
        for n, text in enumerate((
            "а ещё мне нужна синяя кружка для подруги", "она любит море", "и чай", "у вас красивые вазы, кстати",
            "давно на вас подписана", "а мастер-классы бывают?", "для детей?", "сын просит лепить", "ему семь лет",
            "мы из Казани", "но приедем летом", "в июле", "или в августе"))
    ],
    "a burst on a sale day": [Says(f"Есть ли скидка на {what}?", 7_000, 9_000) for what in (
        "кружки", "тарелки", "вазы", "наборы", "чайники", "блюдца", "миски", "подсвечники", "салатники", "горшки")],
    "an order, line by line": [Says(text, after) for text, after in (
        ("Здравствуйте", 0), ("Хочу заказать кружку", 9_000), ("Туман", 4_000), ("две", 3_000), ("Москва", 3_500),
        ("Иванова Анна", 6_000), ("+79161234567", 8_000), ("да", 2_000), ("спасибо", 3_000), ("до свидания", 4_000))],
    "buttons, tapped at once": [
        Says(text, 1_300) for text in ("Каталог", "Кружки", "Туман", "Купить", "Доставка", "Да")
    ],
    "a wholesaler with a list": [
        Says(f"Есть ли скидка на {what} у вас в магазине сегодня при заказе от десяти штук?", 12_000)
        for what in ("кружки", "тарелки", "вазы", "наборы", "чайники", "блюдца", "миски", "горшки", "салатники")
    ],
    "five words of thanks in a row": [Says("Спасибо большое вам за помощь!", 4_000)] * 5,
    "a copied advert, each hour": [Says("Предлагаем продвижение вашего магазина недорого", HOUR_MS)] * 20,
    "two quick crossings in a long talk": [
        Says(text, 500 if n in (4, 5, 7) else 8_000) for n, text in enumerate((
            "Добрый вечер, ищу подарок", "маме на юбилей", "шестьдесят лет", "она гончар", "сама лепит",
            "удивить её сложно", "может, книгу?", "или билет на выставку", "у вас бывают выставки?", "адрес?"))
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_told_within_seven_turns(name: str) -> None:
    assert 0 < caught_at(PROGRAMS[name]) <= 1 + MECHANICAL


def test_the_same_words_at_once_need_four_turns() -> None:
    assert caught_at(PROGRAMS["an auto-responder"]) == 4


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_is_not_taken_for_one(name: str) -> None:
    assert caught_at(PEOPLE[name]) == 0


def test_people_who_write_on_and_on_are_not_taken_for_programs() -> None:
    """A thousand storytellers, whose lines come whenever they come: words that cross ours are chance, not a habit."""
    rng = random.Random(20261130)

    def told(mean: float) -> list[Says]:
        return [
            Says(f"и потом {rng.random()}", round(1000 * (max(0.4, rng.gauss(mean, mean / 3)) - OUR_TURN_MS / 1000)))
            for _ in range(30)
        ]

    caught = sum(bool(caught_at(told(mean))) for mean in (3, 6, 9, 12, 20) for _ in range(200))

    assert caught <= 10


def turns(
    count: int, *, ago_ms: int = 60_000, text: Callable[[int], str] = lambda n: f"вопрос {'абвгд'[n % 5]}"
) -> list[PastTurn]:
    return [PastTurn(burst_of([text(n)], [NOON - ago_ms - 5_000]), NOON - ago_ms) for n in range(count)]


QUESTION = burst_of(["А сколько стоит доставка?"], [NOON - 4_000])


@pytest.mark.parametrize(
    ("past", "spent", "limited", "limits", "decision"),
    [
        ([], 0.0, None, LIMITS, Within()),
        (turns(39), 0.4, None, LIMITS, Within()),
        (turns(40), 0.0, None, LIMITS, TooMuch(TURNS)),
        (turns(40, ago_ms=HOUR_MS), 0.0, None, LIMITS, Within()),
        (turns(400), 9.0, None, Limits(), Within()),
        ([], 0.5, None, LIMITS, TooMuch(COST)),
        ([], 0.4999, None, LIMITS, Within()),
        # Told already.
        (turns(41), 0.0, Limited(TURNS, NOON - 60_000), LIMITS, Silent()),
        (turns(41), 0.0, Limited(TURNS, NOON - HOUR_MS + 1), LIMITS, Silent()),
        ([], 0.0, Limited(TURNS, NOON - HOUR_MS), LIMITS, Within()),
        (turns(41), 0.0, Limited(TURNS, NOON - 60_000), Limits(), Within()),
        ([], 0.6, Limited(COST, NOON - 6 * HOUR_MS), LIMITS, Silent()),
        ([], 0.6, Limited(COST, NOON - 13 * HOUR_MS), LIMITS, TooMuch(COST)),
        ([], 0.0, Limited(COST, NOON - 6 * HOUR_MS), LIMITS, Within()),
        ([], 0.6, Limited(COST, NOON - 6 * HOUR_MS), Limits(cost_per_day=2), Within()),
        ([], 0.6, Limited(TURNS, NOON - 60_000), LIMITS, Silent()),
        # A person behind a program: other words, in their own time.
        (turns(4, text=lambda _: AWAY), 0.0, Limited(AUTO_RESPONDER, NOON - 60_000), LIMITS, Within()),
    ],
)
def test_each_limit_ends_in_one_handover_then_in_silence(
    past: list[PastTurn], spent: float, limited: Limited | None, limits: Limits, decision: object
) -> None:
    got = decide(QUESTION, past, limits=limits, spent_today=spent, limited=limited, now_ms=NOON)

    assert got == decision


def test_a_program_stays_silenced_while_it_goes_on() -> None:
    past = turns(4, text=lambda _: AWAY)
    again = burst_of([AWAY], [NOON - 60_000 + 300])

    first = decide(again, past, limits=LIMITS, spent_today=0, limited=None, now_ms=NOON)
    limited = Limited(AUTO_RESPONDER, NOON - 60_000)
    second = decide(again, past, limits=LIMITS, spent_today=0, limited=limited, now_ms=NOON)

    assert (first, second) == (Within(), Silent())  # four at the same moment are no rhythm, yet now it is known


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_record_is_read_as_it_was_written(one: str, other: str) -> None:
    burst = burst_of([one, other], [5, 9])

    assert read_turn(f"77 {write_burst(burst)}") == PastTurn(burst, 77)


@pytest.mark.parametrize("record", ["", "x", "1 2 3", "1 2 3 x", "1.5 2 3 4", "1 2 3 4 \u0661x"])
def test_a_record_that_cannot_be_read_is_none(record: str) -> None:
    assert read_turn(record) is None


@pytest.mark.parametrize("value", ["", "limit_turns", "limit_turns x", "other 5", "limit_cost -5"])
def test_a_limit_that_cannot_be_read_is_none(value: str) -> None:
    assert read_limited(value) is None


def test_a_sketch_knows_no_numbers_case_or_punctuation() -> None:
    assert sketch_of("ВАШЕ обращение №12, 14:05!") == sketch_of("ваше обращение № 99 (23:59)")
    assert sketch_of("Ёлка") == sketch_of("елка")
    assert sketch_of("123 456 👍") == (0, ())
    assert Burst(1, 2) == burst_of(["12:00"], [1, 2])
