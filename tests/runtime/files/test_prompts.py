"""The texts that ship are usable, and every way of breaking them is named with its file."""

import re
from pathlib import Path

import pytest

from bot.reply.tag_values import STAGES, TASKS, TEMPERATURES, VERDICT_KINDS, parse_value
from runtime.files.prompts import (
    CHANGING_VARIABLES,
    LINE_NAMES,
    STEADY_VARIABLES,
    SYSTEM_FILES,
    load_prompts,
)
from tests.runtime.files.prompt_copies import FIELDS, PROMPTS, rendered

LOCALES = ("ru", "en")
TAG_LINE = "[VERDICT:CHAT:CHAT_ONLY|WARM] [TASK:NONE] [STAGE:CONSULT]"


@pytest.mark.parametrize("locale", LOCALES)
def test_the_system_prompt_holds_every_part_in_order(locale: str) -> None:
    text = rendered(load_prompts(PROMPTS, locale))

    headings = [
        line
        for name in SYSTEM_FILES
        for line in (PROMPTS / locale / name).read_text(encoding="utf-8").splitlines()
        if line.startswith("# ")
    ]
    assert len(headings) >= len(SYSTEM_FILES)
    positions = [text.index(heading) for heading in headings]
    assert positions == sorted(positions)
    assert len(text) < 9000


@pytest.mark.parametrize("locale", LOCALES)
def test_nothing_of_the_template_language_reaches_the_model(locale: str) -> None:
    prompts = load_prompts(PROMPTS, locale)

    for text in (rendered(prompts), prompts.kick(1), prompts.kick(2), prompts.final_step):
        assert not re.search(r"\{\{|\}\}|\{%|%\}|\{#|#\}", text)
    assert "Clay & <Sons>" in rendered(prompts)


@pytest.mark.parametrize("locale", LOCALES)
def test_only_the_end_of_the_prompt_changes_from_turn_to_turn(locale: str) -> None:
    prompts = load_prompts(PROMPTS, locale)
    first, second = rendered(prompts, stage="NEW"), rendered(prompts, stage="PAYMENT")

    same = next(at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)

    assert len(first) - same < 120
    assert "PAYMENT" in second[same - 1 :]
    assert "Monday evening" in second[-100:]


def test_turns_of_the_same_hour_share_one_text() -> None:
    prompts = load_prompts(PROMPTS, "ru")

    assert rendered(prompts) is rendered(prompts)
    assert rendered(prompts) != rendered(prompts, stage="CONSULT")
    assert rendered(prompts) != rendered(load_prompts(PROMPTS, "en"))


@pytest.mark.parametrize("locale", LOCALES)
def test_the_prompt_says_that_an_empty_answer_is_the_only_wrong_one(locale: str) -> None:
    text = rendered(load_prompts(PROMPTS, locale))

    wanted = {"ru": "Пустой ответ — единственный неправильный ответ", "en": "An empty answer is the only wrong answer"}
    assert wanted[locale] in text


@pytest.mark.parametrize("locale", LOCALES)
def test_the_prompt_is_no_wall_of_prohibitions(locale: str) -> None:
    text = rendered(load_prompts(PROMPTS, locale)).lower()

    forbidding = re.findall(r"\b(?:никогда|нельзя|запрещ\w+|ни в коем случае|never|must not|forbidden|do not)\b", text)
    assert len(forbidding) <= 6, forbidding


@pytest.mark.parametrize("locale", LOCALES)
def test_the_tag_line_is_taught_exactly(locale: str) -> None:
    text = rendered(load_prompts(PROMPTS, locale))

    assert TAG_LINE in text.splitlines()
    for value in VERDICT_KINDS | TEMPERATURES | TASKS | (STAGES - {"WON", "LOST"}):  # a sale is closed by people
        assert re.search(rf"\b{value}\b", text), value


@pytest.mark.parametrize("locale", LOCALES)
def test_every_tag_that_is_taught_is_understood(locale: str) -> None:
    text = rendered(load_prompts(PROMPTS, locale))

    taught = re.findall(r"\b(TASK|STAGE):([A-Z_|]+)", text)
    taught += [("VERDICT", value) for value in re.findall(r"\bCHAT:[A-Z_|]+", text)]
    assert len(taught) >= 15
    assert [pair for pair in taught if parse_value(*pair) is None] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_only_the_fields_of_the_settings_are_asked_for(locale: str) -> None:
    prompts = load_prompts(PROMPTS, locale)
    occupation = {"ru": "Чем вы занимаетесь?", "en": "What do you do?"}[locale]

    assert occupation in rendered(prompts, fields=FIELDS)
    assert occupation not in rendered(prompts, fields=("phone",))


@pytest.mark.parametrize("locale", LOCALES)
def test_sample_replies_promise_no_figure_no_link_and_no_saved_data(locale: str) -> None:
    samples = load_prompts(PROMPTS, locale).quotable.splitlines()

    assert len(samples) >= 15
    for sample in samples:
        assert not re.search(r"\d|https?:|www\.", sample), sample
        assert not re.search(r"записал|сохранил|внесл|забронировал|recorded|saved|booked you", sample, re.IGNORECASE)
        assert not re.search(r"VERDICT|TASK|STAGE|search_knowledge", sample), sample


@pytest.mark.parametrize("locale", LOCALES)
def test_sample_replies_stand_in_the_prompt_word_for_word(locale: str) -> None:
    prompts = load_prompts(PROMPTS, locale)
    text = rendered(prompts)

    assert all(f"> {sample}" in text for sample in prompts.quotable.splitlines())
    assert "VERDICT" not in prompts.quotable


@pytest.mark.parametrize("locale", LOCALES)
def test_kicks_are_short_and_the_second_is_shorter(locale: str) -> None:
    prompts = load_prompts(PROMPTS, locale)

    first, second = prompts.kick(1), prompts.kick(2)

    assert len(second) < len(first) < 300
    for kick in (first, second):
        assert len(re.findall(r"[.!?](?:\s|$)", kick)) <= 2


def test_there_is_no_third_kick() -> None:
    with pytest.raises(ValueError, match="no kick 3"):
        load_prompts(PROMPTS, "ru").kick(3)


@pytest.mark.parametrize("name", LINE_NAMES)
def test_every_line_speaks_the_customers_language(name: str) -> None:
    prompts = load_prompts(PROMPTS, "ru")

    russian, english = prompts.line(name), prompts.line(name, "en")

    assert len(re.findall("[а-яё]", russian)) > 20
    assert not re.search("[а-яё]", english)
    assert len(re.findall("[a-z]", english)) > 20


@pytest.mark.parametrize(("locale", "word"), [("ru", "коллег"), ("en", "colleague")])
def test_the_stub_says_that_a_colleague_will_answer(locale: str, word: str) -> None:
    stub = load_prompts(PROMPTS, locale).line("stub")

    assert word in stub
    assert len(stub.encode()) <= 1000


def test_an_unknown_language_gets_the_business_locale() -> None:
    prompts = load_prompts(PROMPTS, "en")

    assert prompts.line("stub", "kk") == prompts.line("stub", "en") == prompts.line("stub", "en-US")
    assert prompts.line("stub", "ru_RU") == load_prompts(PROMPTS, "ru").line("stub")


def test_the_hash_changes_with_any_text(root: Path) -> None:
    before = load_prompts(root, "ru").hash
    hashes = {before}

    for name in ("persona.md", "kick-2.md", "lines.toml"):
        path = root / "ru" / name
        path.write_text(path.read_text(encoding="utf-8") + "\n# ещё\n", encoding="utf-8")
        hashes.add(load_prompts(root, "ru").hash)

    assert len(hashes) == 4
    assert all(re.fullmatch("[0-9a-f]{12}", one) for one in hashes)
    assert load_prompts(PROMPTS, "ru").hash == before


def test_the_guide_names_every_file_line_and_variable() -> None:
    guide = (PROMPTS.parent / "docs" / "prompts.md").read_text(encoding="utf-8")

    names = {*SYSTEM_FILES, *LINE_NAMES, *STEADY_VARIABLES, *CHANGING_VARIABLES, "kick-1.md", "final-step.md"}
    assert [name for name in sorted(names) if name not in guide] == []
