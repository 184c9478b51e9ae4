"""The Lua files as the server gets them: each script with all that it includes, in order of dependency, each once.

A file that begins with `#!lua` is a script, run by its name; any other is an include. Both name what they use in their
heads: includes (`-- include: ledger, schedule`) by file name, wherever in the folder they lie, and constants
(`-- constants: FLOOD_CAP`), whose values come from Python (constants.py beside this). The include `read_event` has no
file either: event_fields.py makes it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable

from store.assembly.constants import CONSTANTS, lua_constant
from store.assembly.event_fields import lua_reader

_SHEBANG = "#!lua"
_INCLUDES = re.compile(r"^-- include: (.+)$", re.MULTILINE)
_CONSTANTS = re.compile(r"^-- constants: (.+)$", re.MULTILINE)


class ScriptBroken(ValueError):
    """The files do not make a script: an include or a constant is unknown, includes go in a circle, or a name is there
    twice."""


def read_scripts(folder: Traversable) -> Mapping[str, tuple[str, str]]:
    """Digest and source of each script, by name; read now, so that later changes of the files do not reach it."""
    scripts, includes = read_files(folder)
    found: dict[str, tuple[str, str]] = {}
    for name, script in scripts.items():
        shebang, _, body = script.partition("\n")
        needed = [includes[include] for include in _in_order(name, included_in(script), includes)]
        text = "\n".join([shebang, *_constants_of([*needed, script]), *needed, body])
        found[name] = (hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text)
    return found


def read_files(folder: Traversable) -> tuple[dict[str, str], dict[str, str]]:
    """The sources of the scripts and of the includes, by name."""
    scripts: dict[str, str] = {}
    includes = {"read_event": lua_reader()}
    for name, source in _sources(folder):
        shelf = scripts if source.startswith(_SHEBANG) else includes
        if name in shelf:
            raise ScriptBroken(f"two files are called {name}.lua")
        shelf[name] = source
    return scripts, includes


def _sources(folder: Traversable) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name, dot, kind = entry.name.partition(".")
        if entry.is_dir():
            yield from _sources(entry)
        elif dot and kind == "lua":
            yield name, entry.read_text(encoding="utf-8")


def included_in(source: str) -> list[str]:
    """The includes that a file names, in its own order."""
    return _named(_INCLUDES, source)


def constants_in(source: str) -> list[str]:
    return _named(_CONSTANTS, source)


def _named(line: re.Pattern[str], source: str) -> list[str]:
    return [name.strip() for names in line.findall(source) for name in names.split(",")]


def _constants_of(sources: list[str]) -> list[str]:
    named = {name for source in sources for name in constants_in(source)}
    if unknown := named - CONSTANTS.keys():
        raise ScriptBroken(f"no constants: {', '.join(sorted(unknown))}")
    return [lua_constant(name) for name in sorted(named)]


def _in_order(script: str, names: list[str], includes: Mapping[str, str]) -> list[str]:
    """All of these includes and what they include themselves, each behind those that it needs."""
    done: list[str] = []

    def add(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise ScriptBroken(f"a circle of includes: {' -> '.join([*way, name])}")
        if name in done:
            return
        if name not in includes:
            raise ScriptBroken(f"{way[-1]}.lua includes {name}, which is no file")
        for needed in included_in(includes[name]):
            add(needed, (*way, name))
        done.append(name)

    for name in names:
        add(name, (f"{script} (script)",))
    return done
