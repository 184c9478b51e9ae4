"""A plan as Redis keeps it: the fields of each part, written by one version and read by another."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import orjson

from bot.conversation import Enclosure, Part, PartKind, PartState, Plan, PlanMeta
from bot.outcome import Outcome
from bot.reply.layout import words_on_template
from bot.reply.rich_content import Link, pack_links, unpack_links
from runtime.logging import get_logger
from store.hashing import bare_hash, key_of, text_hash

log = get_logger(__name__)

PLAIN = "plain"  # code of a part that Meta refused for what is beside its text
_KINDS = frozenset(PartKind)
_STATES = frozenset(PartState)


def part_fields(texts: Sequence[str], meta: PlanMeta, enclosures: Sequence[Enclosure]) -> list[str | int]:
    """As plan.lua takes them: how many texts, text and hash of each; then number and fields of each part that is more
    than a text: what it brings, its echo's marks, when it must not go.

    A template's echo may have its words or none.
    """
    fields: list[str | int] = [len(texts), *(value for text in texts for value in (text, text_hash(text)))]
    if texts and (words := words_on_template(texts[-1], meta.link_buttons)):
        fields += [len(texts) - 1, _json({"alike": f"{bare_hash('template')} {text_hash(words)}"})]
    for index, enclosure in enumerate(enclosures, start=len(texts)):
        named = {"kind": enclosure.kind.value, "text": enclosure.text, "target": enclosure.target}
        if enclosure.kind is PartKind.REACTION:
            named["unless"] = key_of("deletion", enclosure.target)
        else:
            named |= {"hash": text_hash(enclosure.text), "alike": bare_hash(enclosure.kind.value)}
        fields += [index, _json(named)]
    return fields


def packed_meta(meta: PlanMeta) -> str:
    """With what the version before reads in place of the last three: beside it, or after a rollback, a
    template of unknown fate must be looked for by its own words, or it is sent a second time."""
    older = {
        "notebook": meta.scratchpad,
        "buttons": "|".join(meta.quick_replies),
        "links": pack_links(meta.link_buttons),
    }
    return orjson.dumps(asdict(meta) | older).decode()


def _json(value: Mapping[str, str]) -> str:
    return orjson.dumps(value).decode()


def read_plan(fields: Mapping[str, str]) -> Plan | None:
    """None where there is none. One that is damaged is read as far as its states go: what arrived, arrived."""
    if not fields:
        return None
    try:
        return _whole_plan(fields)
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        log.error("plan_damaged", error=type(exc).__name__)
        return _damaged_plan(fields)


def _whole_plan(fields: Mapping[str, str]) -> Plan:
    texts = int(fields["n"])
    meta = _meta(orjson.loads(fields["meta"]))
    parts = [_part(fields, i) for i in range(texts)]
    if not parts:
        raise ValueError("a plan that says nothing")
    words = words_on_template(parts[-1].text, meta.link_buttons)
    parts[-1] = replace(parts[-1], words=words, links=meta.link_buttons, quick_replies=meta.quick_replies)
    following = range(texts, int(fields.get("all", texts)))  # "all" is missing where an older version planned
    enclosures = tuple(_part(fields, i) for i in following if fields.get(f"{i}:kind") in _KINDS)
    # The last two are missing where an older version planned, too.
    return Plan(
        fields["id"],
        tuple(fields["keys"].split()),
        tuple(parts),
        meta,
        enclosures,
        failures=int(fields.get("failures", 0)),
        made_at_ms=int(fields.get("made_at", 0)),
    )


def _damaged_plan(fields: Mapping[str, str]) -> Plan:
    indices = sorted({int(i) for name in fields for i, _, what in [name.partition(":")] if what and i.isdecimal()})
    meta = PlanMeta()
    with suppress(ValueError, TypeError, AttributeError):
        meta = replace(meta, outcome=str(Outcome(orjson.loads(fields.get("meta", ""))["outcome"])))
    return Plan(
        fields.get("id", ""),
        tuple(fields.get("keys", "").split()),
        tuple(Part(i, fields.get(f"{i}:text", ""), part_state_of(fields.get(f"{i}:state", ""))) for i in indices),
        meta,
        is_damaged=True,
    )


def _part(fields: Mapping[str, str], i: int) -> Part:
    code = fields.get(f"{i}:code", "")
    misses, failed_looks = _looks_in(code) or (fields.get(f"{i}:misses"), fields.get(f"{i}:failed_looks"))
    return Part(
        index=i,
        text=fields[f"{i}:text"],
        state=part_state_of(fields[f"{i}:state"]),
        tries=int(fields.get(f"{i}:tries", 0)),
        sending_at_ms=int(fields.get(f"{i}:at", 0)),
        code=code,
        misses=int(misses or 0),
        failed_looks=int(failed_looks or 0),
        kind=PartKind(fields.get(f"{i}:kind", PartKind.TEXT)),
        target=fields.get(f"{i}:target", ""),
        plain=fields.get(f"{i}:plain") == "1",
    )


def _looks_in(code: str) -> tuple[str, str] | None:
    """An older version counts its looks in the code: "looks 1 2"."""
    word, _, counts = code.partition(" ")
    misses, _, failed_looks = counts.partition(" ")
    return (misses, failed_looks) if word == "looks" else None


def part_state_of(name: str) -> PartState:
    """A state of a newer version may mean that it has arrived: that is found out like any other doubt."""
    if name == "":
        return PartState.DROPPED
    return PartState(name) if name in _STATES else PartState.UNKNOWN


def _meta(raw: Mapping[str, Any]) -> PlanMeta:
    """A plan may have been written by a newer version, before a rollback: what it knows beyond us is left out.

    An older one has packed the titles and links into strings, and calls the scratchpad a notebook.
    """
    given = {name: raw[name] for name in PlanMeta.__dataclass_fields__ if name in raw}
    given.setdefault("scratchpad", raw.get("notebook", ""))
    given["quick_replies"] = tuple(given.get("quick_replies", filter(None, raw.get("buttons", "").split("|"))))
    links = given.get("link_buttons")
    given["link_buttons"] = (
        unpack_links(raw.get("links", "")) if links is None else tuple(Link(**link) for link in links)
    )
    meta = PlanMeta(**given)
    Outcome(meta.outcome)
    wrong = [name for name, value in asdict(PlanMeta()).items() if type(getattr(meta, name)) is not type(value)]
    if wrong or not all(isinstance(title, str) for title in meta.quick_replies):
        raise TypeError(f"not what they were: {wrong}")
    return meta
