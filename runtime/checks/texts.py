"""Whether the prompts, the knowledge, what `[media]` names and the options of Redis's address can be used, for
processes that keep none of them.

A receiver that acknowledges while the worker cannot start is the worst of both, so every process asks. Reading the
texts takes a template language and an index of some megabytes, so a child reads them, whose memory ends with it.
"""

import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from runtime.findings import Finding, Level
from runtime.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
_UNFORESEEN = 70


def text_findings(settings: Settings, root: Path = ROOT) -> list[Finding]:
    """The faults of all texts that the settings name, by reading them."""
    from runtime.files.alert_words import AlertWordsInvalid, read_alert_words  # noqa: PLC0415 - as the module says
    from runtime.files.knowledge import KnowledgeInvalid, read_entries  # noqa: PLC0415
    from runtime.files.prompts import PromptsInvalid, load_prompts  # noqa: PLC0415

    config = settings.config
    spoken = {("prompts", config.business.locale)}
    spoken |= {(account.prompts or "prompts", settings.locale_of(account)) for account in config.accounts}
    found: list[Finding] = []
    for folder, locale in sorted(spoken):
        try:
            load_prompts(root / folder, locale)
        except PromptsInvalid as exc:
            found += _errors("prompts", exc.faults, root)
    try:
        read_alert_words(root / "prompts", config.business.locale)
    except AlertWordsInvalid as exc:
        found += _errors("prompts", exc.faults, root)
    try:
        read_entries(root / "knowledge")
    except KnowledgeInvalid as exc:
        found += _errors("knowledge", exc.faults, root)
    for name in ("transcriber", "captioner"):
        if (path := getattr(config.media, name)) and not _is_there(path.partition(":")[0]):
            what = f"[media] {name} names {path}, and there is no such module"
            found.append(Finding(f"config.media.{name}", Level.ERROR, what, "install it beside Nightshift"))
    return list(dict.fromkeys(found))


def text_findings_apart(
    settings: Settings, check: Callable[[Settings], list[Finding]] = text_findings
) -> list[Finding]:
    """As `text_findings`, in a child process. Only for a process that has started no thread yet."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = _UNFORESEEN
        try:
            os.close(reading)
            found = [(f.check, f.level, f.what, f.fix) for f in check(settings)]
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                json.dump(found, pipe)
            code = 0
        except BaseException as exc:  # noqa: BLE001 - nothing may leave a forked child: the parent's own code would run
            sys.stderr.write(f"the texts could not be checked: {type(exc).__name__}\n")
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        ending = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return [Finding("texts", Level.ERROR, f"the check of prompts and knowledge ended with {ending}")]
    return [Finding(name, Level(level), what, fix) for name, level, what, fix in json.loads(told)]


def _errors(check: str, faults: Iterable[str], root: Path) -> list[Finding]:
    """The files as an operator names them, from our own folder on."""
    return [Finding(check, Level.ERROR, fault.replace(f"{root}{os.sep}", "")) for fault in faults]


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
