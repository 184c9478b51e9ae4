"""The arguments of a tool: a pydantic model gives the schema that model servers read, and the check of what they send.

The schema stays plain, since servers differ in what they understand of JSON schema: no `$ref`, no `anyOf`, no titles.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

MOST_FAULTS = 5  # told at once
_LONGEST_NAME = 64
_ODD = ("$ref", "anyOf", "allOf", "oneOf", "prefixItems", "patternProperties")
_TYPES: Mapping[str, str] = {
    "string_type": "string",
    "int_type": "integer",
    "int_from_float": "integer",
    "float_type": "number",
    "bool_type": "boolean",
    "list_type": "array",
    "dict_type": "object",
    "model_type": "object",
}


class Arguments(BaseModel):
    """The base of every tool's arguments: no argument that is not declared, no type taken for another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Words = Annotated[str, StringConstraints(min_length=1), AfterValidator(_not_blank)]
"""Text with something in it."""


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema that a request carries. Raise ValueError for arguments that have no plain one."""
    schema = arguments.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}), ())
    if odd := [name for name in _ODD if f'"{name}":' in json.dumps(plain)]:
        raise ValueError(f"{', '.join(odd)}: not every model server understands that")
    return plain


def parse_arguments(text: str) -> dict[str, Any]:
    """The JSON object that a model wrote; ValueError says where it breaks."""
    if not text.strip():
        return {}  # several models send nothing where they mean {}
    try:
        value = _load(text)
        if isinstance(value, str):
            value = _load(value)  # encoded twice, a habit of some servers
    except json.JSONDecodeError as exc:
        raise ValueError(f"{exc.msg} at character {exc.pos}") from exc
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc
    if not isinstance(value, dict):
        raise ValueError("it is of another type")  # noqa: TRY004 - the caller tells the model, whatever the reason
    return value


def faults_of(error: ValidationError, known: Iterable[str]) -> list[str]:
    """What is wrong with the arguments, in words for the model. `known`: the names that there are at the top."""
    return [_fault(dict(line), known) for line in error.errors(include_url=False, include_input=False)[:MOST_FAULTS]]


def _fault(line: Mapping[str, Any], known: Iterable[str]) -> str:
    kind, where = str(line["type"]), _place(line["loc"])
    if kind == "missing":
        return f"{where} is missing"
    if kind == "extra_forbidden":
        return (
            f"{where} is not known, only {', '.join(known) or 'nothing'}"
            if len(line["loc"]) == 1
            else (f"{where} is not known")
        )
    if kind in _TYPES:
        return f"{where} must be of type {_TYPES[kind]}"
    if kind == "literal_error":
        return f"{where} must be one of {line['ctx']['expected']}"
    if kind == "string_too_short":
        return f"{where} must not be blank"
    return f"{where} {str(line['msg']).removeprefix('Value error, ')}"


def _place(path: Iterable[str | int]) -> str:
    """`to.codes[1]`, cut, since a model may have made up any name."""
    where = ""
    for part in path:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else part
    where = where or "an argument"
    return where if len(where) <= _LONGEST_NAME else f"{where[:_LONGEST_NAME]}..."


def _load(text: str) -> Any:
    """`2.0` is a whole number to JSON; NaN and Infinity are none."""
    return json.loads(text, parse_float=_number, parse_constant=_refuse)


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        _refuse(text)
    return int(value) if value.is_integer() else value


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is no number")


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
    """Titles go, references are written out, and what may be left out is described by what it is otherwise."""
    if reference := str(schema.get("$ref", "")).rpartition("/")[2]:
        if reference in inside:
            raise ValueError(f"{reference} holds itself: the arguments of a tool need an end")
        schema = {**definitions[reference], **{name: schema[name] for name in schema if name != "$ref"}}
        inside = (*inside, reference)
    if choices := [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]:
        if len(choices) > 1:
            raise ValueError("an argument of several types has no plain schema")
        rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
        return _plain({**choices[0], **rest}, definitions, inside)
    plain = {name: value for name, value in schema.items() if name not in ("title", "$defs")}
    if "properties" in plain:
        plain["properties"] = {name: _plain(of, definitions, inside) for name, of in plain["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(plain.get(name), Mapping):
            plain[name] = _plain(plain[name], definitions, inside)
    return plain
