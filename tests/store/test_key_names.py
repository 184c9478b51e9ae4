"""Every key in Redis is in the one table of them, as the sources write it."""

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from runtime.settings import Account
from store import keys
from store.schema.key_table import TABLE, row_of
from tests.rooms import COMMANDS, PRODUCT, ROOT, sources

ACCOUNT = Account(channel="instagram", id="17841400000000042")
# As thoughts and generations are erased together: no key of its own.
NO_KEYS = {"ns:", "ns:c:*:*:*"}
LUA_LITERAL = re.compile(r"'(ns:[^']*)'")


def skeleton(key: str) -> str:
    return re.sub(r"\{[^}]*\}", "*", key)


def lua_keys() -> dict[str, str]:
    """Each key as the scripts spell it, what they append as a star; and where."""
    found: dict[str, str] = {}
    for file in sources("store", kinds=(".lua",)):
        source = file.read_text(encoding="utf-8")
        for literal in LUA_LITERAL.findall(source):
            found[literal + ("*" if literal.endswith(":") else "")] = f"{file.name}: {literal}"
        for part in re.findall(r"\bat\(\w+(?:\[\d\])?, '(\w+)", source):
            found[f"ns:c:*:{part}"] = f"{file.name}: {part}"
        for part in re.findall(r"\b(?:remember|forget_old)\(cid, '(\w+)'", source):
            found[f"ns:c:*:{part}"] = f"{file.name}: {part}"
    return {key: where for key, where in found.items() if key not in NO_KEYS}


def is_written_as(literal: str, key: str) -> bool:
    """A literal is the key, or one of its kind, or so much of it as stands before what differs."""
    known, row = skeleton(key), row_of(literal.replace("*", "x"))
    if row is not None and row.key == key:
        return True
    return literal == known or (literal.endswith("*") and known.startswith(literal)) or known == f"{literal}:*"


def test_no_script_writes_a_key_that_is_not_in_the_table() -> None:
    found = lua_keys()
    strange = {where for literal, where in found.items() if not any(is_written_as(literal, row.key) for row in TABLE)}

    assert len(found) > 40
    assert strange == set()


def spelled(tree: ast.AST) -> Iterator[str]:
    """What a module says at run time that begins like a key; docstrings only speak of keys."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from re.findall(r"\bns:\S*", node.value)


SPELLS_KEYS = {"store/keys.py", "runtime/key_prefix.py"}
NO_REDIS_KEY = "ns:"  # what parts of a reply carry as metadata begins like that, too


def test_one_module_spells_the_names_of_keys() -> None:
    found = {
        (str(file.relative_to(ROOT)), literal)
        for file in sources(*PRODUCT, *COMMANDS, "benchmarks")
        for literal in spelled(ast.parse(file.read_text(encoding="utf-8")))
    }

    assert {file for file, _ in found} >= SPELLS_KEYS
    assert {(file, literal) for file, literal in found if file not in SPELLS_KEYS and literal != NO_REDIS_KEY} == set()


def made_names() -> Iterator[str]:
    """A name from each function of store/keys.py."""
    for name, function in vars(keys).items():
        if inspect.isfunction(function) and name.endswith("_key"):
            values = {"account": ACCOUNT if name in OF_ONE_ACCOUNT else "instagram 1", "part": "inbox"}
            yield function(*(values.get(value, "x") for value in inspect.signature(function).parameters))


OF_ONE_ACCOUNT = {"parking_key", "marks_lock_key", "calls_key"}


def test_every_name_is_one_of_a_key_in_the_table() -> None:
    names = {value for value in vars(keys).values() if isinstance(value, str) and value.startswith("ns:")}
    templates = {name for name in names if "*" not in name and not name.endswith(":")}
    made = set(made_names())

    assert templates == {row.key for row in TABLE if not row.key.startswith(f"{keys.CONVERSATION}:")}
    assert len(made) > 8
    assert {name for name in made if row_of(name) is None} == set()


NOT_OURS = {"Celery", "older versions"}


def test_every_writer_is_a_script_or_a_module_or_a_function_of_theirs() -> None:
    known = {file.stem for file in sources(kinds=(".py", ".lua"))}
    for file in sources(kinds=(".py", ".lua")):
        known.update(
            re.findall(r"^\s*(?:async def|def|local function|function) (\w+)", file.read_text("utf-8"), re.MULTILINE)
        )

    assert {word for row in TABLE for word in row.writers.split(", ")} - known == NOT_OURS


def test_every_key_says_what_it_is_and_what_bounds_it() -> None:
    assert len({row.key for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert row.holds, row.key
        assert row.writers, row.key
        assert row.bound, row.key


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("ns:c:4eb1e8a7ea08e4a6", "ns:c:{conversation}"),
        ("ns:c:4eb1e8a7ea08e4a6:inbox", "ns:c:{conversation}:inbox"),
        ("ns:c:4eb1e8a7ea08e4a6:something", None),
        ("ns:tel:all", "ns:tel:all"),
        ("ns:tel:2026-11-30", "ns:tel:{day}"),
        ("ns:celery:_kombu.binding.turns", "ns:celery:{name}"),
        ("ns:telling:system:no_redis:recovered", "ns:telling:{alert}"),
        ("somebody:else", None),
    ],
)
def test_a_key_is_found_in_the_table(key: str, found: str | None) -> None:
    row = row_of(key)

    assert (row.key if row else None) == found
