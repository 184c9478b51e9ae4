"""The Lua files: each names the includes that it uses, and none else; what does not fit together is no script."""

import re
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest

from bot.conversation import PartState
from bot.outcome import Deferral, Outcome, SilenceReason
from store.assembly.constants import CONSTANTS
from store.assembly.event_fields import FIELDS_OF_KIND
from store.assembly.files import ScriptBroken, constants_in, included_in, read_files, read_scripts

LUA = resources.files("store") / "lua"
SCRIPTS, INCLUDES = read_files(LUA)
FILES = {**{f"{name} (script)": source for name, source in SCRIPTS.items()}, **INCLUDES}
MOST_LINES, MOST_FILES = 300, 20

NAME = r"[A-Za-z_]\w*"
STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'")
DEFINITION = re.compile(rf"^local (?:function ({NAME})|({NAME}(?:, {NAME})*))", re.MULTILINE)
LOCAL = re.compile(
    rf"\blocal (?:function ({NAME})|({NAME}(?:, {NAME})*))|\bfor ({NAME}(?:, {NAME})*)|\bfunction ?{NAME}?\(([^)]*)\)"
)
USE = re.compile(rf"(?<![.\w]){NAME}\b(?!\s*=(?!=))")


def code_of(source: str) -> str:
    """Without words that are no code: comments and strings."""
    return re.sub(r"--.*", "", STRING.sub("''", source))


def names(found: list[tuple[str, ...]]) -> set[str]:
    return {name for groups in found for group in groups for name in re.findall(NAME, group)}


DEFINED = {include: names(DEFINITION.findall(code_of(source))) for include, source in INCLUDES.items()}


def uses(source: str) -> set[str]:
    """Includes of which this source uses a name that it does not define itself."""
    code = code_of(source)
    strange = set(USE.findall(code)) - names(LOCAL.findall(code))
    return {include for include, defined in DEFINED.items() if defined & strange}


def test_no_two_includes_define_one_name() -> None:
    defined = sorted(name for names_of in DEFINED.values() for name in names_of)

    assert len(defined) > 100
    assert [a for a, b in pairwise(defined) if a == b] == []


@pytest.mark.parametrize("file", FILES)
def test_a_file_includes_what_it_uses_and_nothing_else(file: str) -> None:
    assert set(included_in(FILES[file])) == uses(FILES[file]) - {file}


@pytest.mark.parametrize("file", FILES)
def test_a_file_names_the_constants_that_it_uses_and_nothing_else(file: str) -> None:
    assert set(constants_in(FILES[file])) == CONSTANTS.keys() & set(USE.findall(code_of(FILES[file])))


def test_every_constant_is_used() -> None:
    used = {name for source in FILES.values() for name in constants_in(source)}

    assert used == CONSTANTS.keys()


def test_every_include_is_used() -> None:
    assert {name for source in FILES.values() for name in included_in(source)} == INCLUDES.keys()


def test_the_files_stay_small() -> None:
    folder = Path(str(LUA))
    counts = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.lua")}
    shelves = [path.parent for path in counts]

    assert {path.name: lines for path, lines in counts.items() if lines > MOST_LINES} == {}
    assert {shelf.name for shelf in shelves if shelves.count(shelf) > MOST_FILES} == set()


def write(folder: Path, **files: str) -> Path:
    for name, source in files.items():
        (folder / f"{name}.lua").write_text(source, encoding="utf-8")
    return folder


def test_a_script_gets_what_it_includes_in_order_and_once(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    write(shelf, last="-- include: first, middle\nlocal last", first="local first")
    write(
        tmp_path, middle="-- include: first\nlocal middle", script="#!lua flags=no-writes\n-- include: last\nreturn 1"
    )

    [(name, (_, text))] = read_scripts(tmp_path).items()

    assert name == "script"
    assert text.startswith("#!lua flags=no-writes\n")
    assert re.findall(r"^(?:local (?:first|middle|last)|return 1)$", text, re.MULTILINE) == [
        "local first",
        "local middle",
        "local last",
        "return 1",
    ]


def test_a_script_gets_the_constants_that_it_and_its_includes_name(tmp_path: Path) -> None:
    write(tmp_path, first="-- constants: HISTORY_LINES", script="#!lua\n-- constants: NO_WORDS\n-- include: first")

    [(_, text)] = read_scripts(tmp_path).values()

    assert re.findall(r"^local (\w+) = ", text, re.MULTILINE) == ["HISTORY_LINES", "NO_WORDS"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"script": "#!lua\n-- include: ghost"}, r"script \(script\)\.lua includes ghost"),
        ({"script": "#!lua\n-- include: a", "a": "-- include: ghost"}, r"a\.lua includes ghost"),
        ({"script": "#!lua\n-- include: other", "other": "#!lua"}, "includes other"),
        ({"script": "#!lua\n-- include: a", "a": "-- include: b", "b": "-- include: a"}, "a -> b -> a"),
        ({"script": "#!lua\n-- constants: GHOST"}, "GHOST"),
    ],
)
def test_what_does_not_fit_together_is_no_script(tmp_path: Path, files: dict[str, str], why: str) -> None:
    write(tmp_path, **files)

    with pytest.raises(ScriptBroken, match=why):
        read_scripts(tmp_path)


def test_two_files_of_one_name_are_no_scripts(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    write(tmp_path, script="#!lua\nreturn 1")
    write(tmp_path / "shelf", script="#!lua\nreturn 2")

    with pytest.raises(ScriptBroken, match="script"):
        read_scripts(tmp_path)


def test_scripts_close_and_hold_by_words_that_python_knows() -> None:
    closed = [words for source in FILES.values() for words in re.findall(r"\bclose\(.+?, '(\w+)', '(\w+)'\)", source)]
    held = [word for source in FILES.values() for word in re.findall(r"\bhold\(cid, \w+, '(\w+)'", source)]
    states = [word for source in FILES.values() for word in re.findall(r"':state', '(\w+)'", source)]

    assert {outcome for outcome, _ in closed} <= set(Outcome)
    assert {reason for _, reason in closed} == {
        SilenceReason.DELETED,
        SilenceReason.HUMAN_ANSWERED,
    }
    assert set(held) <= set(Deferral)
    assert set(states) == {PartState.PLANNED, PartState.SENDING, PartState.SENT, PartState.DROPPED, PartState.UNKNOWN}


def test_a_script_reads_each_field_that_is_sent_and_no_other() -> None:
    """All that a file of a kind reads of an event are fields of it, and each field is read somewhere."""
    receive = "\n".join(source for name, source in FILES.items() if name != "read_event")
    read = set(re.findall(r"\bevent\.(\w+)", receive)) - {"account"}  # made by receive.lua itself

    assert read == {field for fields in FIELDS_OF_KIND.values() for field in fields._fields}


@pytest.mark.parametrize("kind", FIELDS_OF_KIND)
def test_each_kind_of_event_has_a_file_with_a_function_of_its_name(kind: str) -> None:
    assert kind in DEFINED[kind]
    used = set(re.findall(r"\bevent\.(\w+)", INCLUDES[kind])) - {"account"}

    assert used <= set(FIELDS_OF_KIND[kind]._fields)


def test_one_file_spells_the_names_of_keys() -> None:
    assert {file for file, source in FILES.items() if "'ns:" in source} == {"keys"}


def test_every_key_that_is_named_is_used() -> None:
    named = set(re.findall(r"^  (\w+) = 'ns:", INCLUDES["keys"], re.MULTILINE))
    used = {name for source in FILES.values() for name in re.findall(r"\bns\.(\w+)", code_of(source))}

    assert named == used
