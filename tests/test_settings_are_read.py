"""No setting without a reader: what an operator sets and nothing reads is worse than an error message."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from runtime.checks import not_read_yet
from runtime.config import Account, Config, LadderRung
from runtime.settings import Environment
from tests.rooms import PRODUCT, ROOT, sources

# What looks at all settings alike reads none of them.
CHECKS = {
    "runtime/checks/environment.py",
    "runtime/checks/not_read_yet.py",
    "runtime/checks/texts.py",
    "runtime/files/config.py",
    "runtime/known_secrets.py",
}
DECLARATIONS = {"settings.py", "config.py"}

NAMES = {
    "env": {"env"},
    "accounts": {"account", "a", "_account"},
    "shift": {"shift", "rules", "shift_of", "_shift"},
    "model": {"model", "_model", "model_of"},
    "ladder": {"entry", "ladder"},
    "media": {"media", "settings"},
}
"""By what the code calls a section; any other is called by its own name."""


def settings_of(section: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(section, setting) for each leaf."""
    for name, field in section.model_fields.items():
        kind: Any = {"accounts": Account, "ladder": LadderRung}.get(name, field.annotation)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from settings_of(kind, (name,))
        else:
            yield (place or ("env",))[-1], name


def names_of_readers() -> set[tuple[str, str]]:
    """(what it is called, attribute) for every attribute that the product looks at."""
    found: set[tuple[str, str]] = set()
    for path in sources(*PRODUCT, "cli", "rehearsal"):
        if str(path.relative_to(ROOT)) in CHECKS:
            continue
        tree: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
        found |= set(attributes_of(*methods_of(tree)) if is_declaration(path) else attributes_of(tree))
    return found


def is_declaration(path: Path) -> bool:
    return path.parent == ROOT / "runtime" and path.name in DECLARATIONS


def methods_of(tree: ast.AST) -> Iterator[ast.AST]:
    """Where settings are declared their properties read them; validators and findings only look at them."""
    for kind in ast.walk(tree):
        if isinstance(kind, ast.ClassDef):
            for method in kind.body:
                if isinstance(method, ast.FunctionDef) and "validator" not in "".join(
                    map(ast.dump, method.decorator_list)
                ):
                    yield method


def attributes_of(*trees: ast.AST) -> Iterator[tuple[str, str]]:
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            yield ("env" if name == "self" else name), node.attr


@pytest.fixture(scope="module")
def readers() -> set[tuple[str, str]]:
    return names_of_readers()


def is_read(section: str, setting: str, readers: set[tuple[str, str]]) -> bool:
    return any((name, setting) in readers for name in NAMES.get(section, {section}))


def test_every_setting_of_the_config_is_read(readers: set[tuple[str, str]]) -> None:
    unread = {place for place in settings_of(Config) if not is_read(*place, readers)}

    assert unread == set(), "take them out of runtime/config.py, or read them"


def test_every_variable_is_read_or_told_to_be_not(readers: set[tuple[str, str]]) -> None:
    unread = {place for place in settings_of(Environment) if not is_read(*place, readers)}

    assert {name for _, name in unread} == set(not_read_yet.VARIABLES), (
        "a variable that nothing reads stands in runtime/checks/not_read_yet.py, and one that is read does not"
    )


def test_no_key_that_is_read_is_told_to_be_not() -> None:
    known = {f"{section}.{name}" for section, name in settings_of(Config)} | set(Config.model_fields)

    assert known & set(not_read_yet.KEYS) == set()


def test_a_made_up_setting_would_be_noticed(readers: set[tuple[str, str]]) -> None:
    assert not is_read("business", "motto", readers)
    assert not is_read("model", "prompts", readers)  # the same name elsewhere is no reader
    assert is_read("model", "fallback", readers)
    assert is_read("env", "celery_broker_url", readers)
