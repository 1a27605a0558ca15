"""Run parts of a file of another system without the imports of that file, which need the whole system."""

from __future__ import annotations

import ast
import types
import typing
from pathlib import Path
from typing import Any


def definitions(path: Path, *names: str, **given: Any) -> types.SimpleNamespace:
    """Return the named functions, classes and assigned names of a file, as they are.

    Args:
        given: what they find under these names; the names of ``typing`` are always there.
    """
    body = [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if getattr(node, "name", None) in names
        or (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in names)
    ]
    space: dict[str, Any] = {**vars(typing), **given}
    exec(compile(ast.Module(body, []), str(path), "exec"), space)
    return types.SimpleNamespace(**{name: space[name] for name in names})
