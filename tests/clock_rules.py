"""Finds in the source of a test an absolute time: red on another machine, whatever the code does.

A duration that was measured may be compared with another one (twice the input, at most 2.5 times the work:
`tests/growth.py`), or decide how long something is waited for (`tests/waiting.py`); how long things take is the
business of `benchmarks/`.
"""

import ast
from collections.abc import Iterator

CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time", "now_ms", "ask_time", "server_ms"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}
TOLD = {"seconds", "first_byte_seconds", "waited_seconds", "elapsed"}
"""What the product calls a duration that it has measured itself."""
PASS_ON = {"abs", "float", "int", "list", "max", "min", "round", "sorted", "sum", "tuple"}
PASS_ON |= {"gather", "mean", "median", "pairwise", "run", "wait_for", "zip"}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def absolute_times(source: str) -> list[int]:
    """Lines in which a measured time is held against one that was not measured, be it a number, a name or an answer.

    Measured is what a clock says and all that is made of it in this file: names, containers, results of functions.
    A measured time between two others is fine, and so is a lower bound of a duration that the product tells. A
    deadline may end a wait, and nothing may be asserted of it.
    """
    tree = ast.parse(source)
    measured = _Measured(tree)
    compared = _comparisons(tree)
    asserted = [node for each in ast.walk(tree) if isinstance(each, ast.Assert) for node in _comparisons(each.test)]
    return sorted(
        {node.lineno for node in compared if measured.is_held_against_another(node)}
        | {node.lineno for node in asserted if _is_deadline(node)}
    )


class _Measured:
    """Which names and functions of a module hold a time that a clock has told; by name, whatever the scope."""

    def __init__(self, tree: ast.Module) -> None:
        self._names: set[str] = set()
        before = -1
        while before != len(self._names):
            before = len(self._names)
            for node in ast.walk(tree):
                self._learn(node)

    def is_held_against_another(self, node: ast.Compare) -> bool:
        sides = [node.left, *node.comparators]
        if len(sides) > 2 and self._holds(sides[0]) and self._holds(sides[-1]):
            return False
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            if not isinstance(operator, _ORDER):
                continue
            smaller, larger = (right, left) if isinstance(operator, ast.Gt | ast.GtE) else (left, right)
            if self._holds(left) != self._holds(right) or (isinstance(larger, ast.Constant) and _is_told(smaller)):
                return True
        return False

    def _holds(self, node: ast.AST) -> bool:
        """Whether this expression is made of a reading of a clock. What a function makes of one is anything, unless it
        is known to pass on what it is given."""
        match node:
            case ast.Name(id=name):
                return name in self._names
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                return _reads_a_clock(node) or name in self._names or (name in PASS_ON and any(map(self._holds, args)))
            case ast.JoinedStr() | ast.Lambda() | ast.Compare():
                return False
            case _:
                return any(map(self._holds, ast.iter_child_nodes(node)))

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._name(target, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
            ):
                self._name(target, value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add" | "extend"), args=args):
                if any(map(self._holds, args)):
                    self._names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if any(map(self._holds, _results(node))):
                    self._names.add(name)
            case _:
                pass

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        """Of two tuples each takes its own; else all names do."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._name(one, its)
        elif self._holds(value):
            self._names |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}


def _comparisons(tree: ast.AST) -> list[ast.Compare]:
    """Those by order."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and any(isinstance(operator, _ORDER) for operator in node.ops)
    ]


def _is_deadline(node: ast.Compare) -> bool:
    """The time it is now, and one moment that was made up before."""
    return len(node.ops) == 1 and any(
        isinstance(side, ast.Call) and _reads_a_clock(side) for side in (node.left, *node.comparators)
    )


def _reads_a_clock(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(attr="command"), args=[ast.Constant(value="TIME"), *_]):
            return True  # the server's
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[]):
            return name in CLOCKS
        case _:
            return False


def _is_told(node: ast.AST) -> bool:
    return any(
        (isinstance(part, ast.Attribute) and part.attr in TOLD)
        or (isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and part.slice.value in TOLD)
        for part in ast.walk(node)
    )


def _results(function: ast.AST) -> Iterator[ast.expr]:
    """What it returns or yields itself; functions inside it have results of their own."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            yield node.value
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _results(node)
