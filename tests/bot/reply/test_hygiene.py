import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reply.hygiene import clean

FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<thinking a='b'>",
            "◁think▷",
            "◁/think▷",
            "<|channel|>analysis<|message|>",
            "<|end|>",
            "<|channel|>final<|message|>",
            "<channel|>",
            "**",
            "*",
            "_",
            "__",
            "`",
            "```",
            "```json\n",
            "#",
            "# ",
            "\n",
            " ",
            '{"reply": "',
            '"}',
            "[a](https://a.example)",
            "[",
            "](",
            ")",
            "\\",
            "~~",
            "> ",
            "|",
            "---",
            "| - | - |",
            "<b>",
            "</b>",
            "<br>",
            "&nbsp;",
            "&amp; ",
            "\u200b",
            "\u200d",
            "️",
            "👍",
            "\U000e0041",
            "\x00",
            "�",
            "слово",
            "1.",
            "<thi",
            "nk>",
            "[think]",
            "[/think]",
            "assistantfinal",
            "analysis",
            "<|im_end|>",
            "&quot;",
            "<li>",
            "x",
        ]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize(
    ("dirty", "text", "rule"),
    [
        ("<think>hm</think>Привет", "Привет", "think"),
        ("<THINK>\nhm\n</THINK>\n\nПривет", "Привет", "think"),
        ("<think foo='1'>hm</think>Привет", "Привет", "think"),
        ("<think>a<think>b</think>c</think>Привет", "Привет", "think"),
        ("<think>a, then <think> again</think>Привет", "Привет", "think"),
        ("Да. <think>hm</think> Есть.", "Да. Есть.", "think"),
        ("<think>a</think>Да.<think>b</think> Есть.", "Да. Есть.", "think"),
        ("<think>only thoughts</think>", "", "think"),
        ("Да, есть.\n<think>hm", "Да, есть.", "unclosed_think"),
        ("<think>hm", "", "unclosed_think"),
        ("Да, есть <think", "Да, есть", "unclosed_think"),
        ("hm</think>Привет", "Привет", "orphan_think"),
        ("a</think>b</think>Привет", "Привет", "orphan_think"),
        ("hm</think>", "", "orphan_think"),
        ("<thinking>hm</thinking>Привет", "Привет", "think"),
        ("<thought>hm</thought>Привет", "Привет", "think"),
        ("<reasoning>hm</reasoning>Привет", "Привет", "think"),
        ("<reflection>hm</reflection>Привет", "Привет", "think"),
        ("&lt;think&gt;hm&lt;/think&gt;Привет", "Привет", "think"),
        ("[THINK]hm[/THINK]Привет", "Привет", "think"),
        ("◁think▷hm◁/think▷Привет", "Привет", "think"),
        ("<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>Привет<|end_of_solution|>", "Привет", "channel"),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Привет<|return|>",
            "Привет",
            "channel",
        ),
        ("<|channel|>final Привет", "Привет", "channel"),
        ("<|channel>thought\nhm<channel|>Привет", "Привет", "channel"),
        ("analysisThe user greets.assistantfinalПривет", "Привет", "channel"),
        ("Привет<|im_end|>\n<|im_start|>user\nа цена?", "Привет", "control_token"),
        ("Привет</s>", "Привет", "control_token"),
        ("```\nПривет\n```", "Привет", "fence"),
        ('```json\n{"reply": "Привет"}\n```', "Привет", "json_wrapper"),
        ('{"reply": "Да\\nнет"}', "Да\nнет", "json_wrapper"),
        ('{"data": {"answer": "Да"}, "success": true}', "Да", "json_wrapper"),
        ('[{"type": "text", "text": "Да"}]', "Да", "json_wrapper"),
        ("**Цена**: *две* ~~три~~ `пять` ***шесть*** __семь__", "Цена: две три пять шесть семь", "markup"),
        ("## Цены\n- раз\n1. два\n\n---\nконец", "Цены\n- раз\n1. два\n\nконец", "markup"),
        ("[сайт](https://shop.example/a_(b))", "сайт: https://shop.example/a_(b)", "markup"),
        ("[https://shop.example](https://shop.example/)", "https://shop.example/", "markup"),
        (
            "[почта](mailto:a@shop.example) <https://shop.example>",
            "почта: a@shop.example https://shop.example",
            "markup",
        ),
        ("![фото](https://shop.example/1.jpg)", "фото: https://shop.example/1.jpg", "markup"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n1 | 2", "markup"),
        ("<b>Да</b><br>Есть", "Да\nЕсть", "markup"),
        ("> цитата", "цитата", "markup"),
        ("<answer>Да</answer>", "Да", "markup"),
        ("**Ответ клиенту:** Да", "Да", "label"),
        ("[Ответ клиенту] Да", "Да", "label"),
        ("Final answer: yes", "yes", "label"),
        ("1\\. Раз \\*", "1. Раз *", "markup"),
        ("a\u200bb\u2060c\ufeff", "abc", "invisible"),
        ("да\U000e0041\U000e0042", "да", "invisible"),
        ("раз\r\nдва\x07", "раз\nдва", "control"),
        ("да\ud800", "да", "control"),
    ],
)
def test_what_customers_must_not_see_is_removed_and_named(dirty: str, text: str, rule: str) -> None:
    cleaned = clean(dirty)

    assert cleaned.text == text
    assert rule in cleaned.removed


@pytest.mark.parametrize(
    "text",
    [
        "👨‍👩‍👧 ❤️ 1️⃣ 🤷🏻‍♂️",
        "20*30*40, 2 * 3",
        "карта **** 1234",
        "@_anna_",
        "O`zbek",
        "размер <XL>",
        "5 < 7 > 3",
        "#скидка",
        "отель 5**",
        "https://a.example/b_c_d?x=*1*",
        "- раз\n- два",
        "SUMMER_2026_SALE",
        "می\u200cخواهم",
        "1 000\u00a0₽",
        "[скидка]",
        "[скидка](вчера)",
        '{"name": "search", "arguments": {}}',
        "C# и C++",
        "¯\\_(ツ)_/¯",
        "{имя}",
        "мы думаем <так>",
    ],
)
def test_what_is_no_markup_stays(text: str) -> None:
    assert clean(text).text == text
    assert clean(text).removed == ()


def test_thoughts_are_handed_back() -> None:
    assert clean("<think>цена 5</think>Да").thinking == "цена 5"


def test_a_text_built_to_unfold_comes_back_empty() -> None:
    hostile = "**" * 1 + "<thi" * 40 + "<think>" + "nk>" * 40

    assert clean(clean(hostile).text).text == clean(hostile).text


@given(FRAGMENTS | st.text(max_size=60))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean(text)

    assert clean(once.text).text == once.text
    assert clean(once.text).removed == ()


@given(FRAGMENTS)
def test_no_think_tag_survives(text: str) -> None:
    cleaned = clean(text).text.casefold()

    assert "<think>" not in cleaned
    assert "</think>" not in cleaned
    cleaned.encode()


@given(st.text(alphabet="абв ,!?", min_size=1, max_size=40).filter(lambda t: t.strip()))
def test_a_json_wrapper_gives_back_what_it_held(text: str) -> None:
    assert clean(json.dumps({"reply": text})).text == text.strip()
