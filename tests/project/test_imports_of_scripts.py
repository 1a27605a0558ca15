"""Scripts that no test runs, because they need other systems or hours: benchmarks, comparisons, examples."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from package_trees import nodes

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    path
    for name in ("benchmarks", "conformance", "conformance/training", "docs", "examples")
    for path in sorted((ROOT / name).glob("*.py"))
]

SHARED = [ROOT / name for name in ("benchmarks", "tests", "conformance")]


@cache
def parsed(path: Path) -> tuple[ast.Module, list[ast.AST]]:
    """Return the syntax tree of a file, and all its nodes but names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tree, [*nodes(tree)]


@cache
def defined(path: Path) -> set[str]:
    """Return the names that a file defines or imports at its top level."""
    found: set[str] = set()
    for node in parsed(path)[0].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        else:
            found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return found


def missing(script: Path) -> Iterator[str]:
    """Yield the names that a script imports from this repository and that do not exist there."""
    for node in parsed(script)[1]:
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


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the libraries that are imported by some nodes."""
    nodes = list(nodes)
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"tts_prep"}


def asked_for(found: list[ast.AST]) -> set[str] | None:
    """Return the libraries that a script asks for by name; nothing if it looks for what it is told."""
    calls = [node for node in found if isinstance(node, ast.Call)]
    found = [call.args for call in calls if ast.unparse(call.func).rpartition(".")[2] in ("require", "find_spec")]
    names = [argument for arguments in found for argument in arguments if not isinstance(argument, ast.Starred)]
    if not all(isinstance(name, ast.Constant) for name in names):
        return None
    return {str(name.value) for name in names if isinstance(name, ast.Constant)}


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda script: script.name)
def test_a_benchmark_asks_for_a_library_before_it_measures(script: Path) -> None:
    # What is imported at the top fails at once; what a corpus command needs is there, or there is nothing to measure.
    there = {"espeakng_loader", "h5py", "joblib", "librosa", "numpy", "phonemizer", "scipy", "soundfile", "soxr"}
    ours = {path.stem for folder in SHARED for path in folder.glob("*.py")}
    tree, found = parsed(script)
    later = imported(found) - imported(tree.body) - there - ours
    asked = asked_for(found)
    assert asked is None or later <= asked


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.name}")
def test_a_script_imports_only_what_exists(script: Path) -> None:
    assert list(missing(script)) == []
