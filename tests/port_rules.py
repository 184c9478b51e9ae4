"""Finds in a source a port that is passed on after its socket was closed: anybody may have it by then."""

import ast
from collections.abc import Iterator


def ports_let_go(source: str) -> list[int]:
    """Lines that use, outside the block which holds a socket, the port that the socket had."""
    return sorted(
        {
            line
            for function in ast.walk(ast.parse(source))
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for block in ast.walk(function)
            if isinstance(block, ast.With | ast.AsyncWith)
            for line in _lines_past(block, function)
        }
    )


def _lines_past(block: ast.With | ast.AsyncWith, function: ast.AST) -> Iterator[int]:
    sockets = {
        item.optional_vars.id
        for item in block.items
        if isinstance(item.optional_vars, ast.Name) and "socket" in ast.unparse(item.context_expr)
    }
    inside = [node for part in block.body for node in ast.walk(part)]
    ports: set[str] = set()
    for node in inside:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_port(value, sockets):
                ports.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _is_port(value, sockets):
                ports.add(name)
            case _:
                pass
    for node in inside:
        if isinstance(node, ast.Return) and node.value and (_is_port(node.value, sockets) or _names(node) & ports):
            yield node.lineno
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in ports and node.lineno > (block.end_lineno or 0):
            yield node.lineno


def _is_port(value: ast.expr, sockets: set[str]) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="int" | "str"), args=[inner]):
            return _is_port(inner, sockets)
        case ast.Subscript(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="getsockname"))):
            return name in sockets
        case _:
            return False


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
