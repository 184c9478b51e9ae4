import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.language import disagrees, script_language

RU = "Здравствуйте, сколько стоит доставка в Казань?"
UK = "Добрий день, скільки коштує доставка у Львів?"
KK = "Сәлеметсіз бе, жеткізу бағасы қанша болады екен?"
EN = "Hello, how much is the delivery to the city centre?"
TR = "Merhaba, kargo ücreti ne kadar acaba, stokta var mı?"
AR = "مرحبا، كم سعر التوصيل إلى المدينة من فضلكم؟"
ZH = "您好，这个商品有现货，价格是五百元。"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (RU, "ru"),
        (UK, "uk"),
        (KK, "kk"),
        (EN, "en"),
        (TR, "tr"),
        (AR, "ar"),
        (ZH, "zh"),
        ("안녕하세요 배송비가 얼마인지 알려주시겠어요 감사합니다", "ko"),
    ],
)
def test_languages_beyond_doubt_are_named(text: str, language: str) -> None:
    assert script_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ок",
        "цена?",
        "price",
        "iPhone 15 Pro Max 256GB Natural Titanium",
        "skolko stoit dostavka po gorodu",
        "Да, yes, maybe, конечно, of course we can",
        "Сәлем, цена какая на доставку в Алматы?",
        "https://shop.example/how-much-is-it-to-have",
    ],
)
def test_short_and_mixed_texts_are_unsure(text: str) -> None:
    assert script_language(text) is None


@pytest.mark.parametrize(
    ("reply", "customer", "language"),
    [
        (ZH, RU, "ru"),
        (EN, RU, "ru"),
        (RU, EN, "en"),
        (RU, TR, "tr"),
        (EN, AR, "ar"),
        (RU, UK, "uk"),
        (RU, KK, "kk"),
        (EN, UK, "uk"),
        (ZH, "цена?", "ru"),
        (EN, "ціна?", "uk"),
        (ZH, "бағасы?", "kk"),
        ("Добрый день! Да, 现货 有货 есть в наличии сегодня.", RU, "ru"),
    ],
)
def test_a_reply_in_another_language_names_the_customers(reply: str, customer: str, language: str) -> None:
    assert disagrees(reply, customer) == language


@pytest.mark.parametrize(
    ("reply", "customer"),
    [
        (RU, RU),
        (EN, EN),
        (UK, UK),
        ("Да, iPhone 15 Pro Max и MacBook Air в наличии", RU),
        ("iPhone 15 Pro Max Natural Titanium", RU),
        (EN, "ok"),
        (RU, "?"),
        (EN, RU + " Ответьте на английском"),
        (RU, EN + " in Russian please"),
        ("👍", RU),
        ("Xiaomi (小米) есть, цена 10 000 ₽, доставка завтра", RU),
        (RU, "skolko stoit dostavka po gorodu podskajite"),
    ],
)
def test_doubt_is_no_disagreement(reply: str, customer: str) -> None:
    assert disagrees(reply, customer) is None


@given(st.text(), st.text())
def test_nobody_disagrees_with_themselves(one: str, other: str) -> None:
    disagrees(one, other)

    assert disagrees(one, one) is None
