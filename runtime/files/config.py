"""Reads `nightshift.toml`: its values, and what is wrong in it with the line it stands in."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from runtime.checks import not_read_yet
from runtime.config import Account, Config, LadderRung
from runtime.files.text import TextUnreadable, read_text
from runtime.findings import Finding, Level

CHECK = "config"
_LISTED: dict[str, type[BaseModel]] = {"accounts": Account, "ladder": LadderRung}  # sections that may be repeated
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]")
_KEY = re.compile(r"\s*([\w\"'-]+(?:\s*\.\s*[\w\"'-]+)*)\s*=")

Place = tuple[str | int, ...]


class ConfigFile:
    """The file at `path`; `raw` is empty when it cannot be read, and `findings` then says why."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.raw: dict[str, Any] = {}
        self._lines: dict[Place, int] = {}
        try:
            text = read_text(path)
            self.raw = tomllib.loads(text)
        except FileNotFoundError:
            self._refuse(f"{path} does not exist", "copy nightshift.toml from the repository and edit it")
        except TextUnreadable as exc:
            self._refuse(exc.what, exc.fix)
        except tomllib.TOMLDecodeError as exc:
            self._refuse(f"{path} is not valid TOML: {exc}", "mend the named line, or the one before it")
        else:
            self._lines = _lines(text)

    def at(self, *place: str | int) -> str:
        """The file and, as far as it is known, the line of a key or of the section around it."""
        for length in range(len(place), 0, -1):
            if (line := self._lines.get(place[:length])) is not None:
                return f"{self.path}: line {line}"
        return str(self.path)

    def validated(self, tokens: Mapping[str, str]) -> Config:
        """The values, an account's token filled in from the variable it names; faults go to `findings`, and a section
        with one has its defaults."""
        raw = _with_tokens(self.raw, tokens)
        try:
            return Config.model_validate(raw)
        except ValidationError as exc:
            errors = exc.errors()
            for error in errors:
                name = ".".join(map(str, error["loc"]))
                said = error["msg"].removeprefix("Value error, ")
                what = ": ".join(filter(None, (self.at(*error["loc"]), name, said)))
                self.findings.append(Finding(f"{CHECK}.{name}" if name else CHECK, Level.ERROR, what))
        sound = {key: value for key, value in raw.items() if all(key not in error["loc"][:1] for error in errors)}
        try:
            return Config.model_validate(sound)
        except ValidationError:  # of sections that do not fit together
            return Config()

    def unknown_keys(self) -> Iterator[Finding]:
        """A typo silently becomes a default, so it is named; a key of a newer version must not stop the start."""
        yield from self._unknown_keys(self.raw, Config, ())

    def _unknown_keys(self, raw: Mapping[str, Any], section: type[BaseModel], place: Place) -> Iterator[Finding]:
        for key, value in raw.items():
            here = (*place, key)
            name = ".".join(part for part in here if isinstance(part, str))
            field = section.model_fields.get(key)
            if (missing := not_read_yet.KEYS.get(name)) is not None:
                what = f"{self.at(*here)}: {name} is set, but this version has {missing}"
                yield Finding(f"{CHECK}.{name}", Level.WARNING, what, "nothing comes of it yet")
            elif field is None:
                near = difflib.get_close_matches(key, section.model_fields, n=1)
                fix = f"did you mean {near[0]}?" if near else "take it out, or look for its name in nightshift.toml"
                yield Finding(f"{CHECK}.{name}", Level.WARNING, f"{self.at(*here)}: {name} is not a setting", fix)
            else:
                kind: Any = _LISTED.get(key, field.annotation)
                if isinstance(kind, type) and issubclass(kind, BaseModel):
                    items = (
                        [((*here, at), v) for at, v in enumerate(value)] if isinstance(value, list) else [(here, value)]
                    )
                    for inner, item in items:
                        if isinstance(item, Mapping):
                            yield from self._unknown_keys(item, kind, inner)

    def _refuse(self, what: str, fix: str) -> None:
        self.findings.append(Finding(CHECK, Level.ERROR, f"NIGHTSHIFT_CONFIG: {what}", fix))


def token_variables(raw: Mapping[str, Any]) -> list[str]:
    """The variables that the accounts name for their tokens."""
    accounts = raw.get("accounts")
    named = [str(a.get("token_env", "")) for a in accounts if isinstance(a, dict)] if isinstance(accounts, list) else []
    return [name for name in dict.fromkeys(named) if name]


def _with_tokens(raw: dict[str, Any], tokens: Mapping[str, str]) -> dict[str, Any]:
    accounts = raw.get("accounts")
    if not isinstance(accounts, list):
        return raw
    filled = [
        {**account, "token": tokens.get(str(account.get("token_env", "")), "")}
        if isinstance(account, dict)
        else account
        for account in accounts
    ]
    return {**raw, "accounts": filled}


def _lines(text: str) -> dict[Place, int]:
    """Where sections and keys stand, read in the plain way people write them: Python's parser does not tell."""
    lines: dict[Place, int] = {}
    counts: dict[str, int] = {}
    section: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            names = _names(header[2].split("."))
            section = tuple(names)
            if header[1] == "[[":
                counts[header[2]] = counts.get(header[2], -1) + 1
                section = (*section, counts[header[2]])
            elif names[0] in counts and len(names) > 1:  # [accounts.shift] belongs to the last [[accounts]]
                section = (names[0], counts[str(names[0])], *names[1:])
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            lines.setdefault((*section, *_names(key[1].split("."))), number)
    return lines


def _names(parts: Sequence[str]) -> list[str]:
    return [part.strip().strip("\"'") for part in parts]
