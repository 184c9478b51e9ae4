"""The tables of docs/data-model.md, written from the data that they show: `python -m store.schema.page` renews them."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from store.schema.key_table import GROUPS, Lifetime, Row
from store.schema.transitions import CONVERSATION, PART, PART_STATES, STATES, Transition

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "data-model.md"


def blocks() -> dict[str, str]:
    """What stands between `<!-- name -->` and `<!-- end -->` on the page, by name."""
    return {
        "conversation states": _states(STATES),
        "conversation drawing": _drawing(CONVERSATION),
        "conversation transitions": _transitions(CONVERSATION),
        "part states": _states(PART_STATES),
        "part transitions": _transitions(PART),
        "keys": "\n\n".join(f"### {name}\n\n{_keys(rows)}" for name, rows in GROUPS.items()),
    }


def renewed(page: str) -> str:
    """The page with its blocks as they are now; `KeyError` for one that is not known."""
    current = blocks()
    return re.sub(
        r"(<!-- (?!end)([a-z ]+) -->\n\n).*?(\n\n<!-- end -->)",
        lambda found: f"{found[1]}{current[found[2]]}{found[3]}",
        page,
        flags=re.DOTALL,
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _states(states: Mapping[str, str]) -> str:
    return _table(("state", "means"), ((f"`{name}`", what) for name, what in states.items()))


def _transitions(rows: Iterable[Transition]) -> str:
    return _table(
        ("from", "by", "to", "when"),
        ((_code(row.before), _code(row.by), f"`{row.after}`", row.when) for row in rows),
    )


def _drawing(rows: Iterable[Transition]) -> str:
    """One arrow between two states, with all that goes along it."""
    along: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for before, by, after in row.changes():
            along.setdefault((before, after), []).append(by)
    arrows = (f"    {_point(before)} --> {after}: {', '.join(by)}" for (before, after), by in along.items())
    return "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```"])


def _point(state: str) -> str:
    return state if state in STATES else "[*]"


def _keys(rows: Iterable[Row]) -> str:
    return _table(
        ("key", "type", "holds", "written by", "lifetime", "kept small by", "personal data"),
        (
            (
                f"`{row.key}`",
                row.kind.value if row.kind else "several",
                row.holds,
                _code(row.writers.split(", ")),
                {Lifetime.AT_REST: "expires at rest"}.get(row.lifetime, row.lifetime.value),
                row.bound,
                row.personal_data.value,
            )
            for row in rows
        ),
    )


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
