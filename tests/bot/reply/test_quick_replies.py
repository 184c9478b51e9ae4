import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reply.quick_replies import MOST_BUTTONS, TITLE_CHARS, take_buttons
from bot.reply.tags import parse_tags
from tests.bot.legal_replies import LEGAL

TAGS = "[VERDICT:CHAT:WARM] [TASK:NONE] [STAGE:OFFER]"


@pytest.mark.parametrize(
    "block",
    [
        "[BUTTONS: Да | Нет]",
        "[BUTTONS:Да|Нет]",
        "[buttons = Да | Нет]",
        "[BUTTON: «Да» | «Нет»]",
        "[[BUTTONS: Да | Нет]]",
        "[**BUTTONS**: Да | Нет]",
        "{BUTTONS: Да | Нет}",
        "【BUTTONS：Да｜Нет】",
        "[QUICK_REPLIES: Да | Нет]",
        "[КНОПКИ: Да | Нет]",
        "[BUTTONS:\n1. Да |\n2. Нет]",
        "[BUTTONS:\n- Да\n- Нет\n]".replace("- ", "• "),
        "BUTTONS: Да | Нет",
        "**BUTTONS:** Да | Нет",
        "[BUTTONS: Да | Нет",
        "(КНОПКИ: Да | Нет)",
        "(BUTTONS: Да | Нет)",
        "[Кнопки: Да | Нет]",
        "［ＢＵＴＴＯＮＳ：Да｜Нет］",
        "「BUTTONS: Да | Нет」",
        "[BUTTОNS: Да | Нет]",  # one letter is Cyrillic
        "[BUTTONS Да | Нет]",
        "<BUTTONS>Да | Нет</BUTTONS>",
        "[BUTTONS: Да | Нет}",
        "[КНОПКИ:\n1. Да\n2. Нет]",
        "КНОПКИ: Да | Нет",
        "[BUTTONS: Да | Нет | да | | [ ]]".replace("[ ]", ""),
    ],
)
def test_every_shape_is_read_and_none_is_shown(block: str) -> None:
    reply = parse_tags(f"Отложить для вас?\n{block}\n{TAGS}")

    assert reply.text == "Отложить для вас?"
    assert reply.buttons == ("Да", "Нет")
    assert (reply.stage, reply.missing) == ("OFFER", ())


@pytest.mark.parametrize(
    "text",
    [
        f"{TAGS}\n[BUTTONS: Да | Нет]",
        f"[BUTTONS: Да | Нет]\nОтложить для вас?\n{TAGS}",
        f"Отложить для вас? [BUTTONS: Да | Нет] {TAGS}",
        f"Отложить для вас?\n[BUTTONS: Старое | Было]\n[BUTTONS: Да | Нет]\n{TAGS}",
    ],
)
def test_wherever_it_stands(text: str) -> None:
    reply = parse_tags(text)

    assert reply.text in ("Отложить для вас?", "")
    assert reply.buttons == ("Да", "Нет")
    assert reply.stage == "OFFER"


@pytest.mark.parametrize(
    "block",
    ["[BUTTONS]", "[BUTTONS:]", "[BUTTONS: | ]", "[/BUTTONS]", "[BUTTONS: https://shop.example]", "[BUTTONS: …]"],
)
def test_what_gives_no_button_is_cut_all_the_same(block: str) -> None:
    reply = parse_tags(f"Отложить?\n{block}\n{TAGS}")

    assert reply.text == "Отложить?"
    assert reply.buttons == ()


def test_titles_and_their_number_are_cut_to_what_the_channels_take() -> None:
    many = " | ".join(f"Вариант номер {n} и ещё много слов" for n in range(30))

    found = take_buttons(f"Что выбрать?\n[BUTTONS: {many}]")

    assert len(found.titles) == MOST_BUTTONS
    assert found.titles[0] == "Вариант номер 0 и…"
    emoji = take_buttons("[BUTTONS: " + "👍🏽" * 15 + "]").titles[0]
    assert emoji.endswith("👍🏽…")
    assert all(len(t.encode("utf-16-le")) // 2 <= TITLE_CHARS for t in (*found.titles, emoji))


@pytest.mark.parametrize("reply", [reply for _, reply in LEGAL])
def test_legal_replies_have_none(reply: str) -> None:
    assert take_buttons(reply).text == reply
    assert not take_buttons(reply).found


@pytest.mark.parametrize(
    "text",
    [
        "Кнопки: одна красная, одна синяя.",
        "Нажмите [кнопка справа].",
        "Press the button: it is green",
        "Кнопка (верхняя): вкл.",
        "У пальто [КНОПКИ: рог] красивые, цена 900 ₽",
        "[КНОПКИ: 90 ₽ за штуку]",
        "КНОПКИ: золото | серебро с чернением, 90 ₽ за штуку",
        "(BUTTONS: see above)",
        "(кнопки: золото | серебро, 90 ₽ за штуку",
    ],
)
def test_talk_of_buttons_is_no_button(text: str) -> None:
    assert parse_tags(text).text == text


def test_one_that_was_never_closed_ends_with_its_line() -> None:
    reply = parse_tags("Берём? [BUTTONS: Да | Нет\nЦена 500 ₽, доставка по городу бесплатно]")

    assert reply.text == "Берём?\nЦена 500 ₽, доставка по городу бесплатно]"
    assert reply.buttons == ("Да", "Нет")


@given(st.text(alphabet="[]{}|:= \nBUTONS", max_size=60), st.text(max_size=30))
def test_no_block_survives(block: str, around: str) -> None:
    text = parse_tags(f"{around}[BUTTONS:{block}]{around}").text

    assert "[BUTTONS:" not in text
