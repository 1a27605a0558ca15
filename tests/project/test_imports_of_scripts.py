"""Scripts that no test runs, because they need other systems or hours: benchmarks, comparisons, examples."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    path
    for name in ("benchmarks", "conformance", "conformance/training", "docs", "examples")
    for path in sorted((ROOT / name).glob("*.py"))
]

SHARED = [ROOT / name for name in ("benchmarks", "tests", "conformance")]


def defined(path: Path) -> set[str]:
    """Return the names that a file defines or imports at its top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        else:
            found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return found


def missing(script: Path) -> Iterator[str]:
    """Yield the names that a script imports from this repository and that do not exist there."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        names = [alias.name for alias in node.names]
        files = [folder / f"{node.module}.py" for folder in (script.parent, *SHARED)]
        if file := next((file for file in files if file.is_file()), None):
            yield from (f"{node.module}.{name}" for name in names if name not in defined(file))
        elif node.module.split(".")[0] == "tts_prep":
            module = importlib.import_module(node.module)
            for name in names:
                if not hasattr(module, name) and not importlib.util.find_spec(f"{node.module}.{name}"):
                    yield f"{node.module}.{name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.name}")
def test_a_script_imports_only_what_exists(script: Path) -> None:
    assert list(missing(script)) == []
