"""Reads the texts under `prompts/`, checks them as a whole at start, and renders them for a turn."""

import difflib
import re
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.reply.tag_values import STAGES
from runtime.files.text import TextUnreadable, read_text

# The order of the system prompt. The tag line comes last, and so do the values that change from turn to turn:
# everything before them is the same for every customer, and a provider's prefix cache pays for it once.
SYSTEM_FILES = (
    "persona.md",
    "stage-1-scripts.md",
    "stage-2-questionnaire.md",
    "stage-3-catalog.md",
    "stage-4-small-talk.md",
    "tags.md",
)
KICK_FILES = ("kick-1.md", "kick-2.md")
FINAL_STEP_FILE = "final-step.md"
LINES_FILE = "lines.toml"
LINE_NAMES = ("stub", "handoff", "unsupported_media", "disclosure", "opt_out", "call_human")

STEADY_VARIABLES = frozenset({"business_name", "locale", "timezone", "lead_fields"})
CHANGING_VARIABLES = frozenset({"stage", "now_local"})  # allowed in the last file only, see SYSTEM_FILES
REQUIRED_VARIABLES = {"persona.md": frozenset({"business_name"}), "tags.md": CHANGING_VARIABLES}

QUOTE_MARK = "> "  # begins a line that a customer may read word for word
MAX_LINE_BYTES = 1000  # Instagram takes no more in one message, and such a line is sent as one

_PURPOSES = {
    "stage-4-small-talk.md": "no script and no tool fits every message, and this one makes an answer legal",
    LINES_FILE: "it holds the words for the moment when the model has none",
}

# Text for people, not HTML: escaping would put &amp; before a customer's eyes.
_JINJA = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)


class PromptsInvalid(Exception):
    """The process must not start; `faults` names each file and what is wrong with it."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(tuple(faults))
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "The prompts cannot be used:\n" + "\n".join(f"  - {fault}" for fault in self.faults)


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The texts of one locale, checked. `final_step` and the kicks go to the model, the lines to customers.

    `hash` (12 hex digits) changes with any of the texts. `quotable` holds the sample replies, one a line: what
    an echo detector must not mistake for a leaked prompt.
    """

    locale: str
    hash: str
    quotable: str
    final_step: str
    _system: tuple[Template, ...]
    _kicks: tuple[str, ...]
    _lines: Mapping[str, Mapping[str, str]]

    def system(
        self,
        *,
        stage: str,
        now_local: str,
        business_name: str,
        timezone: str,
        lead_fields: Sequence[str] = (),
    ) -> str:
        """The system prompt of a turn. `now_local` is words for the model, best no finer than an hour."""
        return _rendered(
            self._system,
            business_name=business_name,
            locale=self.locale,
            timezone=timezone,
            lead_fields=tuple(lead_fields),
            stage=stage,
            now_local=now_local,
        )

    def kick(self, number: int) -> str:
        """The note of retry 1 or 2; another number is a ValueError."""
        if not 1 <= number <= len(self._kicks):
            raise ValueError(f"there is no kick {number}, only 1 to {len(self._kicks)}")
        return self._kicks[number - 1]

    def line(self, name: str, locale: str | None = None) -> str:
        """What the bot says by itself, in the customer's language where there is one, else in the business's.

        `locale` may carry a region ("en-US"). An unknown `name` is a KeyError.
        """
        wanted = _language(locale or self.locale)
        for language in (wanted, wanted.split("-")[0]):
            if language in self._lines:
                return self._lines[language][name]
        return self._lines[_language(self.locale)][name]


@lru_cache(maxsize=32)
def _rendered(templates: tuple[Template, ...], **values: Hashable) -> str:
    """One text for all turns of an hour: each would else hold 30 KB of its own while the model thinks."""
    return "\n\n".join(template.render(values).strip() for template in templates)


def load_prompts(root: Path, locale: str) -> PromptSet:
    """Load `root`/`locale`, and the lines of every other locale; raise `PromptsInvalid` naming every fault."""
    folder = root / locale
    if not folder.is_dir():
        there = ", ".join(sorted(path.name for path in root.iterdir() if path.is_dir())) if root.is_dir() else ""
        raise PromptsInvalid(
            [f"{folder} does not exist, and nightshift.toml asks for it; locales that do: {there or 'none'}"]
        )
    faults: list[str] = []
    sources: dict[Path, str] = {}
    quotable: list[str] = []
    templates: dict[str, Template] = {}
    for name in (*SYSTEM_FILES, *KICK_FILES, FINAL_STEP_FILE):
        path = folder / name
        if (source := _read(path, faults)) is None:
            continue
        sources[path] = source
        if name in SYSTEM_FILES:
            quotable += _quotes(source, path, faults)
        if (template := _compiled(source, path, _allowed(name), faults)) is not None:
            templates[name] = template
    lines: dict[str, Mapping[str, str]] = {}
    for path in sorted({folder / LINES_FILE, *root.glob(f"*/{LINES_FILE}")}):
        if (source := _read(path, faults)) is not None:
            sources[path] = source
            lines[_language(path.parent.name)] = _parse_lines(source, path, faults)
    if faults:
        raise PromptsInvalid(faults)
    return PromptSet(
        locale=locale,
        hash=_hash(root, sources),
        quotable="\n".join(quotable),
        final_step=templates[FINAL_STEP_FILE].render().strip(),
        _system=tuple(templates[name] for name in SYSTEM_FILES),
        _kicks=tuple(templates[name].render().strip() for name in KICK_FILES),
        _lines=MappingProxyType(lines),
    )


def _hash(root: Path, sources: Mapping[Path, str]) -> str:
    digest = sha256()
    for path, source in sources.items():
        digest.update(f"{path.relative_to(root).as_posix()}\0{source}\0".encode())
    return digest.hexdigest()[:12]


def _language(locale: str) -> str:
    return locale.replace("_", "-").lower()


def _read(path: Path, faults: list[str]) -> str | None:
    """The text of a file that says something, or None with the fault noted."""
    why = f": {_PURPOSES[path.name]}" if path.name in _PURPOSES else ""
    try:
        text = read_text(path)
    except FileNotFoundError:
        faults.append(f"{path} is missing{why}")
    except TextUnreadable as exc:
        faults.append(str(exc))
    else:
        if _says_something(text):
            return text
        faults.append(f"{path} is empty{why}")
    return None


def _allowed(name: str) -> frozenset[str]:
    if name == SYSTEM_FILES[-1]:
        return STEADY_VARIABLES | CHANGING_VARIABLES
    return STEADY_VARIABLES if name in SYSTEM_FILES else frozenset()


def _compiled(source: str, path: Path, allowed: frozenset[str], faults: list[str]) -> Template | None:
    """The template, tried out on sample values: what fails at three in the morning shall fail at start."""
    try:
        used = meta.find_undeclared_variables(_JINJA.parse(source))
        template = _JINJA.from_string(source)
    except TemplateSyntaxError as exc:
        faults.append(f"{path}: line {exc.lineno}: {exc.message}")
        return None
    unused = REQUIRED_VARIABLES.get(path.name, frozenset()) - used
    wrong = [f"{_line_of(name, source)}{{{{ {name} }}}} {_why_not(name, allowed)}" for name in sorted(used - allowed)]
    wrong += [f"{{{{ {name} }}}} is not used, but the model has to know it" for name in sorted(unused)]
    if wrong:
        faults += [f"{path}: {fault}" for fault in wrong]
        return None
    for values in _samples():
        try:
            rendered = template.render(values)
        except Exception as exc:  # noqa: BLE001 - a template is the owner's program and may fail in any way
            faults.append(f"{path} cannot be rendered: {type(exc).__name__}: {exc}")
            return None
        if not _says_something(rendered):
            faults.append(f"{path} is empty once its comments and conditions are resolved")
            return None
    return template


def _line_of(variable: str, source: str) -> str:
    found = re.search(rf"{{[{{%][^}}]*\b{re.escape(variable)}\b", source)
    return f"line {source.count(chr(10), 0, found.end()) + 1}: " if found else ""


def _why_not(variable: str, allowed: frozenset[str]) -> str:
    if variable in CHANGING_VARIABLES:
        return f"changes from turn to turn and belongs in {SYSTEM_FILES[-1]}, at its end"
    if not allowed:
        return "is not known here: this text takes no variables"
    near = difflib.get_close_matches(variable, allowed, n=1)
    return "is not a variable" + (f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(allowed))}")


def _samples() -> list[dict[str, object]]:
    """Values that walk through the conditions a prompt is likely to hold: each stage, with and without lead fields."""
    return [
        {
            "business_name": "Name",
            "locale": "en",
            "timezone": "UTC",
            "lead_fields": fields,
            "stage": stage,
            "now_local": "Monday morning",
        }
        for stage in sorted(STAGES)
        for fields in ((), ("phone", "birth_date", "gender", "occupation"))
    ]


def _quotes(source: str, path: Path, faults: list[str]) -> list[str]:
    found: list[str] = []
    for number, line in enumerate(source.splitlines(), start=1):
        if not line.startswith(QUOTE_MARK):
            continue
        if "{{" in line or "{%" in line:
            faults.append(f"{path}: line {number}: a sample reply is sent as it stands, so it takes no variables")
        found.append(line.removeprefix(QUOTE_MARK).strip())
    return found


def _parse_lines(source: str, path: Path, faults: list[str]) -> Mapping[str, str]:
    try:
        raw = tomllib.loads(source)
    except tomllib.TOMLDecodeError as exc:
        faults.append(f"{path} is not valid TOML: {exc}")
        return {}
    lines: dict[str, str] = {}
    for name in LINE_NAMES:
        value = raw.get(name)
        if name not in raw:
            faults.append(f"{path}: the line {name} is missing")
        elif not isinstance(value, str):
            faults.append(f"{path}: the line {name} must be text in quotes")
        elif not _says_something(value):
            faults.append(f"{path}: the line {name} is blank")
        elif "{{" in value or "{%" in value:
            faults.append(f"{path}: the line {name} is sent as it stands, so it takes no variables")
        elif (size := len(value.encode())) > MAX_LINE_BYTES:
            faults.append(f"{path}: the line {name} is {size} bytes long, a message holds {MAX_LINE_BYTES}")
        else:
            lines[name] = value.strip()
    for name in raw.keys() - set(LINE_NAMES):
        near = difflib.get_close_matches(name, LINE_NAMES, n=1)
        faults.append(f"{path}: {name} is not a line of the bot" + (f"; did you mean {near[0]}?" if near else ""))
    return MappingProxyType(lines)


def _says_something(text: str) -> bool:
    """A letter or a digit: zero-width characters look like text to `strip`."""
    return any(character.isalnum() for character in text)
