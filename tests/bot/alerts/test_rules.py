"""The closed list of rules, held to what the code raises and to the words that managers read."""

import ast
import re
from collections.abc import Iterator

import pytest

from bot.alerts.rules import ACCOUNT, CONVERSATION, ENDING, EVERY_RULE, HOUSE, NO_ANSWER, UNUSABLE_ANSWER, family_of
from bot.limits import RULES
from bot.reply.tag_values import TASKS
from bot.retry import Failure
from monitoring.store_requirements import EVERY_RULE as STORE_RULES
from monitoring.watchdog import _EVERY_RULE as WATCHED
from tests.rooms import ROOT, sources
from worker.agent.model_notes import ALERTS
from worker.alerts.alert_words import load_alert_words

LOCALES = sorted(path.name for path in (ROOT / "prompts").iterdir())
RAISERS = {"Alert": 0, "incident": 1, "close_unsaid": 3, "_end": 3, "_close": 1, "_alert": 1, "abandon": 3}
"""Functions that raise an alert, and the place of its rule among their arguments."""


def raised() -> Iterator[tuple[str, str]]:
    """Where a rule is written out in a call that raises it, and the rule."""
    for path in sources():
        if path.parent == ROOT / "bot/alerts":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            named = [keyword.value for keyword in node.keywords if name in RAISERS and keyword.arg == "rule"]
            for value in [*node.args[RAISERS.get(name, 99) :][:1], *named]:
                for rule in texts_in(value):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", rule
    for path in sources("store", kinds=(".lua",)):
        for rule in re.findall(r"\brule = '(\w+)'", path.read_text()):
            yield str(path.relative_to(ROOT)), rule


def texts_in(node: ast.AST) -> set[str]:
    return {p.value for p in ast.walk(node) if isinstance(p, ast.Constant) and isinstance(p.value, str) and p.value}


def judged() -> set[str]:
    """Every rule that the validator writes out."""
    tree = ast.parse((ROOT / "bot/reply/validation.py").read_text())
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Judgement", "_judge_silence"):
            found |= texts_in(node.args[1])
        elif isinstance(node, ast.Tuple) and len(node.elts) == 3 and isinstance(node.elts[0], ast.Constant):
            found.add(str(node.elts[0].value))
        elif isinstance(node, ast.FunctionDef) and node.name == "_rule_of_blank":
            found |= texts_in(node)
    return found - {"ok"}


@pytest.mark.parametrize("locale", LOCALES)
def test_every_rule_has_words_in_every_locale(locale: str) -> None:
    reasons = load_alert_words(ROOT / "prompts", locale).reasons
    endings = {f"{rule}_over" for rule in ENDING}

    assert {rule for rule in EVERY_RULE if not {rule, family_of(rule)} & reasons.keys()} == set()
    assert endings - reasons.keys() == set()
    assert reasons.keys() - EVERY_RULE - endings - {"default", "unusable_answer", "no_answer"} == set()


def test_every_rule_that_code_writes_out_is_on_the_list() -> None:
    found = {(where, rule) for where, rule in raised() if rule not in EVERY_RULE}

    assert {(where, rule) for where, rule in found if not rule.endswith("_")} == set()
    assert {rule for _, rule in found} == {"account_", "account_policy_", "task_"}


def test_every_rule_that_code_puts_together_is_on_the_list() -> None:
    parking = {Failure.TOKEN, Failure.PERMISSION, Failure.RESTRICTED, Failure.THROTTLED}

    assert {f"account_{reason}" for reason in parking} | {"account_policy_block", "account_policy_warning"} <= ACCOUNT
    assert {f"task_{task.lower()}" for task in TASKS - {"NONE"}} <= CONVERSATION
    assert {"recipient_gone", "owned_by_another", "bad_content"} <= {f.value for f in Failure} & CONVERSATION
    assert set(RULES) <= CONVERSATION
    assert set(ALERTS.values()) | set(STORE_RULES) | set(WATCHED) <= HOUSE


def test_the_validators_rules_are_those_of_its_family() -> None:
    assert judged() == UNUSABLE_ANSWER
    assert not UNUSABLE_ANSWER & NO_ANSWER
