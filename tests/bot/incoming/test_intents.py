"""The two intents in two languages, and a hundred ordinary messages that are neither."""

import pytest

from bot.incoming.intents import Intent, intent_of

HUMAN = """
оператор
Оператор!
оператора
Менеджера позовите
позовите человека
Позовите, пожалуйста, оператора
позови менеджера
соедините с оператором
Соедините меня с менеджером
переключите на оператора
переведите на оператора
Хочу поговорить с человеком
хочу говорить с живым человеком
Можно поговорить с менеджером?
можно оператора?
можно человека?
дайте оператора
мне нужен оператор
Мне нужен живой человек
нужен человек
живой человек
живого человека
свяжите меня с менеджером
Здравствуйте, позовите менеджера пожалуйста
Хочу связаться с оператором
Хочу общаться с человеком
Не хочу говорить с ботом
не хочу общаться с ботом, позовите человека
Есть живой человек?
Есть тут живые люди?
Тут есть кто живой?
Позовите администратора
Позовите специалиста
Можно с кем-нибудь живым поговорить?
operator
human
I want to talk to a human
I want to speak to a real person
Can I speak with a manager?
can i talk to someone
talk to a person
let me talk to a human
Please connect me with an agent
connect me to a human please
get me a human
I need a human
I need to talk to a real person
real person please
live agent
speak to representative
human please
Could I speak to your manager, please?
transfer me to an operator
is there a real person here?
I don't want to talk to a bot
"""

OPT_OUT = """
стоп
СТОП
Stop
STOP!
отпишите меня
отписаться
не пишите мне
Не пишите мне больше
больше не пишите
больше мне не пишите
Пожалуйста, не пишите мне больше
не пиши мне
Прекратите писать
хватит писать
хватит мне писать
перестаньте мне писать
не присылайте мне сообщения
unsubscribe
stop messaging me
stop texting me
Please stop writing to me
don't message me
Don't write to me anymore
do not contact me
please don't contact me again
leave me alone
stop sending me messages
opt out
Удалите меня из рассылки
"""

# A trade, a person in a gift, a stop of a bus, a flower that is alive.
ORDINARY = """
Здравствуйте! Сколько стоит кружка «Туман»?
А доставка в Казань есть?
Можно заказать на завтра?
Сколько человек помещается?
Нас будет 4 человека
Мы вдвоём, два человека
Столик на 2 человека
Ваш оператор в отпуске?
У вас менеджер Анна ещё работает?
Я менеджер
менеджер
Менеджер по продажам
работаю оператором котельной
Работаю менеджером
Какой мобильный оператор лучше?
Мне менеджер вчера обещал скидку
Менеджер так и не перезвонил
Ваш менеджер нахамил
Администратор сказал прийти к 10
Вам нужен администратор?
Ищете менеджера?
Вам нужны сотрудники?
Хороший вы человек
Какой человек придёт?
Живой ли цветок?
Это живые цветы?
живые цветы
Подарок для человека 50 лет
Нужен подарок мужчине
Нужен мастер
Мне нужна консультация
Хочу записаться на консультацию
Нужна консультация специалиста
Какой специалист принимает?
К какому специалисту записаться?
Хочу поговорить
Поговорить бы
Давайте поговорим о цене
Позвоните мне
Перезвоните мне завтра
позовите меня когда придёт
Свяжите мне шапку
Стоп, а это точно хлопок?
Стоп-кран продаёте?
стоп слово какое
Не пишите цену с НДС
Не пишите на открытке имя
Больше не пишите «акция», если её нет
Отпишитесь, как будет готово
Отпишитесь
Отпишусь завтра
Не присылайте курьера до 12
Хватит ли ткани на двоих?
Хватит писать, давайте позвоним? Шучу
Перестаньте, это дорого :)
Спасибо!
Ок
да
Нет
Хочу
Мне бы размер M
Есть размер S?
А есть тут скидка?
Кто вы?
Вы бот?
Ты робот?
Это бот?
С кем я говорю?
Вы человек?
Как вас зовут?
Можно оплатить картой?
Мне нужен чек
Можно вернуть?
Hello! How much is the blue mug?
Do you ship to Germany?
I am a manager
manager
My agent will pick it up
I'm a real estate agent
Is your operator on holiday?
What is the manager's name?
The manager promised a discount
I need a mug for a person who has everything
a gift for a real person
How many people fit?
Two people
table for two
Can you call me?
call me
I want to talk
Can I talk about the price?
Stop by tomorrow?
Where is the bus stop?
Non-stop delivery?
Can I stop by at 5?
Don't write the price on the card
don't message my wife, it's a surprise
Do not contact the courier
I can't stop thinking about that mug
Are you a bot?
is this a bot
Are you human?
Is this a real person?
Thanks!
ok
yes please
I need help
help
Can you help me?
😊
???
1
Мария, 25 лет
+7 900 000-00-00
Какие часы работы?
Вас поняла, жду
Do you have support insoles?
Customer reviews?
I would like to connect two lamps
Put me on the list please
"""


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


@pytest.mark.parametrize("text", lines(HUMAN))
def test_a_customer_who_wants_a_human_is_understood(text: str) -> None:
    assert intent_of([text]) is Intent.HUMAN


@pytest.mark.parametrize("text", lines(OPT_OUT))
def test_a_customer_who_wants_no_messages_is_understood(text: str) -> None:
    assert intent_of([text]) is Intent.OPT_OUT


@pytest.mark.parametrize("text", lines(ORDINARY))
def test_an_ordinary_message_has_no_intent(text: str) -> None:
    assert intent_of([text]) is None


def test_the_newest_line_counts_and_older_ones_do_not_unsay_it() -> None:
    assert intent_of(["Сколько стоит?", "Позовите оператора"]) is Intent.HUMAN
    assert intent_of(["стоп", "Позовите оператора"]) is Intent.HUMAN
    assert intent_of(["Позовите оператора", "стоп"]) is Intent.OPT_OUT


def test_nothing_has_no_intent() -> None:
    assert intent_of([]) is None
    assert intent_of(["", "  ", "😊"]) is None


def test_a_long_text_is_left_to_the_model() -> None:
    assert intent_of(["оператор " * 20]) is None
