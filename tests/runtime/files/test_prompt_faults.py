"""What is wrong with a set of prompts is named with its file, all of it at once."""

import pickle
from pathlib import Path

import pytest

from runtime.files.prompts import (
    SYSTEM_FILES,
    PromptsInvalid,
    load_prompts,
)
from tests.runtime.files.prompt_copies import PROMPTS, rendered


def faults_of(root: Path, locale: str = "ru") -> str:
    with pytest.raises(PromptsInvalid) as caught:
        load_prompts(root, locale)
    return str(caught.value)


def test_windows_line_ends_and_a_byte_order_mark_are_welcome(root: Path) -> None:
    for path in (root / "ru").iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))

    prompts = load_prompts(root, "ru")

    original = load_prompts(PROMPTS, "ru")
    assert prompts.quotable == original.quotable
    assert rendered(prompts) == rendered(original)


@pytest.mark.parametrize("name", [*SYSTEM_FILES, "kick-1.md", "kick-2.md", "final-step.md", "lines.toml"])
@pytest.mark.parametrize("content", [None, " \n\u200b\ufeff\n"])
def test_a_missing_or_blank_file_is_named(root: Path, name: str, content: str | None) -> None:
    path = root / "ru" / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content, encoding="utf-8")

    faults = faults_of(root)

    assert str(path) in faults
    assert ("missing" if content is None else "empty") in faults


def test_a_missing_stage_4_says_why_it_is_needed(root: Path) -> None:
    (root / "ru" / "stage-4-small-talk.md").unlink()

    assert "makes an answer legal" in faults_of(root)


@pytest.mark.parametrize(
    ("name", "added", "expected"),
    [
        ("persona.md", "{{ busines_name }}", "{{ busines_name }} is not a variable; did you mean business_name?"),
        ("persona.md", "{{ stage }}", "{{ stage }} changes from turn to turn and belongs in tags.md"),
        ("tags.md", "{% if stage == 'NEW' %}{{ typo }}{% endif %}", "{{ typo }} is not a variable"),
        ("kick-1.md", "{{ business_name }}", "this text takes no variables"),
        ("final-step.md", "{{ now_local }}", "changes from turn to turn"),
        ("stage-3-catalog.md", "{{ business_name ", "line"),
        ("stage-3-catalog.md", "{% if lead_fields %}", "line"),
        ("stage-3-catalog.md", "{{ 1 // 0 }}", "cannot be rendered: ZeroDivisionError"),
        ("stage-3-catalog.md", "{% include 'other.md' %}", "cannot be rendered"),
        ("stage-3-catalog.md", "{{ ''.__class__.__mro__ }}", "cannot be rendered: SecurityError"),
        ("stage-1-scripts.md", "> Welcome to {{ business_name }}", "a sample reply is sent as it stands"),
    ],
)
def test_a_broken_template_is_named_with_its_file(root: Path, name: str, added: str, expected: str) -> None:
    path = root / "ru" / name
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{added}\n", encoding="utf-8")

    faults = faults_of(root)

    assert str(path) in faults
    assert expected in faults


@pytest.mark.parametrize("variable", ["stage", "now_local"])
def test_a_variable_that_the_model_must_know_is_missed(root: Path, variable: str) -> None:
    path = root / "ru" / "tags.md"
    path.write_text(path.read_text(encoding="utf-8").replace(f"{{{{ {variable} }}}}", "..."), encoding="utf-8")

    assert f"{path}: {{{{ {variable} }}}} is not used" in faults_of(root)


def test_a_file_of_comments_only_is_empty(root: Path) -> None:
    path = root / "ru" / "stage-4-small-talk.md"
    path.write_text("{# to be written #}", encoding="utf-8")

    assert f"{path} is empty once its comments" in faults_of(root)


def test_a_file_in_another_encoding_is_named(root: Path) -> None:
    path = root / "ru" / "persona.md"
    path.write_bytes("Привет".encode("cp1251"))

    assert f"{path}: line 1 is not UTF-8 (it looks like Windows-1251)" in faults_of(root)


def test_a_file_in_utf_16_is_named_as_such(root: Path) -> None:
    (root / "ru" / "lines.toml").write_text('stub = "Привет"', encoding="utf-16")

    assert f"{root / 'ru' / 'lines.toml'} is UTF-16, not UTF-8; save it as UTF-8" in faults_of(root)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("stub = ", "stubb = ", "the line stub is missing"),
        ("stub = ", "stubb = ", "stubb is not a line of the bot; did you mean stub?"),
        ("stub = ", 'stub = " "\nextra = ', "the line stub is blank"),
        ("stub = ", 'stub = "\u200b"\nextra = ', "the line stub is blank"),
        ("stub = ", "stub = 5\nextra = ", "the line stub must be text"),
        ('stub = "', 'stub = "{{ business_name }} ', "takes no variables"),
        ('stub = "', f'stub = "{"ы" * 500}', "a message holds 1000"),
        ("stub = ", "stub ", "is not valid TOML"),
    ],
)
def test_a_broken_line_is_named(root: Path, before: str, after: str, expected: str) -> None:
    path = root / "ru" / "lines.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(before, after, 1), encoding="utf-8")

    faults = faults_of(root)

    assert str(path) in faults
    assert expected in faults


def test_lines_of_other_locales_are_checked_too(root: Path) -> None:
    (root / "en" / "lines.toml").write_text('stub = "Hello"', encoding="utf-8")

    assert f"{root / 'en' / 'lines.toml'}: the line handoff is missing" in faults_of(root, "ru")


def test_every_fault_is_listed_at_once(root: Path) -> None:
    (root / "ru" / "persona.md").unlink()
    (root / "ru" / "kick-1.md").write_text("", encoding="utf-8")
    (root / "ru" / "lines.toml").write_text("= broken", encoding="utf-8")

    faults = faults_of(root)

    assert all(name in faults for name in ("persona.md", "kick-1.md", "lines.toml"))


def test_an_unknown_locale_names_those_that_exist() -> None:
    assert "locales that do: en, ru" in faults_of(PROMPTS, "fr")


def test_the_failure_crosses_processes() -> None:
    failure = PromptsInvalid(["a.md is missing"])

    assert str(pickle.loads(pickle.dumps(failure))) == str(failure)
