"""What the modules of the package import and say, read once for the tests that look at all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tts_prep

PACKAGE = Path(tts_prep.__file__).parent
_NEED = ast.dump(ast.parse("doors.need", mode="eval").body)


class Module(NamedTuple):
    """What is in a module, also in its functions and for types."""

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    texts: tuple[str, ...]
    needs: tuple[ast.Call, ...]
    """The calls of ``doors.need``."""


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, but for names, and for whether they are read: `ast.walk` takes four times as long."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, list):
                stack += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.Name | ast.expr_context):
                stack.append(value)


@cache
def modules() -> dict[str, Module]:
    """Return each module by its path in the package."""
    paths = (path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
    return {path.relative_to(PACKAGE).as_posix(): _module(path.read_text(encoding="utf-8")) for path in paths}


def _module(code: str) -> Module:
    imports, texts, needs = [], [], []
    for node in nodes(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                texts.append(node.value)
        elif isinstance(node, ast.Call) and ast.dump(node.func) == _NEED:
            needs.append(node)
    return Module(tuple(imports), tuple(texts), tuple(needs))
