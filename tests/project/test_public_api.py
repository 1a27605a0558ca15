"""What is public: the modules that declare it, and that documentation and examples use nothing else."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECLARED = (
    "tts_prep",
    "tts_prep.checks",
    "tts_prep.export",
    "tts_prep.inference",
    "tts_prep.loader",
    "tts_prep.preprocess",
    "tts_prep.recipes",
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
WRITTEN = [*PAGES, *sorted((ROOT / "docs" / "reference").glob("*.rst")), *EXAMPLES]
LIBRARIES = {"numba", "scipy", "soundfile", "soxr", "librosa", "h5py", "joblib", "click", "torch"}
_IMPORT = re.compile(r"^[ \t>|.`]*(?:.*`)?from (tts_prep[\w.]*) import (\([^)]*\)|[\w, ]+)", re.MULTILINE)


def imported(text: str) -> set[tuple[str, str]]:
    """Return pairs (module, name) of all imports from tts-prep in a page or a script, fenced, indented or in a line."""
    found = set()
    for module, names in _IMPORT.findall(text):
        found |= {(module, name.split()[0]) for name in names.strip("()").split(",") if name.strip()}
    return found | {(module, "") for module in re.findall(r"\bimport (tts_prep\.[\w.]+)", text)}


def undeclared(text: str) -> set[str]:
    """Return the imports of a page, script or docstring that no module declares."""
    return {
        f"{module}.{name}"
        for module, name in imported(text)
        if module not in DECLARED or (name and name not in importlib.import_module(module).__all__)
    }


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_and_examples_import_from_declared_modules_alone(path: Path) -> None:
    assert undeclared(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_and_examples_name_declared_things_alone(path: Path) -> None:
    names = re.findall(rf"\b({'|'.join(map(re.escape, DECLARED[1:]))})\.(\w+)", path.read_text(encoding="utf-8"))
    assert {
        f"{module}.{name}" for module, name in names if name not in importlib.import_module(module).__all__
    } == set()


@pytest.mark.parametrize("module", DECLARED)
def test_docstrings_of_declared_names_import_from_declared_modules_alone(module: str) -> None:
    for name in importlib.import_module(module).__all__:
        value = getattr(importlib.import_module(module), name)
        members = [member for _, member in inspect.getmembers(value)] if inspect.isclass(value) else []
        for thing in (value, *members):
            assert undeclared(getattr(thing, "__doc__", None) or "") == set(), name


def test_imports_are_found_wherever_they_stand() -> None:
    text = (
        "    from tts_prep.a import (\n    B,\n    c as d,\n)\n| x | `from tts_prep.e import F, g` |\n"
        "import tts_prep.h\n    >>> from tts_prep.i import J\n    ... from tts_prep.k import L\n"
    )
    assert imported(text) == {
        *[("tts_prep.a", "B"), ("tts_prep.a", "c")],
        *[("tts_prep.e", "F"), ("tts_prep.e", "g"), ("tts_prep.h", "")],
        *[("tts_prep.i", "J"), ("tts_prep.k", "L")],
    }


REFERENCE = re.compile(r"^\.\. (?:auto)?(currentmodule|class|function|exception|data):: (\S+)$", re.MULTILINE)


def in_the_reference() -> list[str]:
    """Return the full name of each entry of the reference."""
    entries = []
    for path in sorted((ROOT / "docs" / "reference").glob("*.rst")):
        module = ""
        for kind, name in REFERENCE.findall(path.read_text(encoding="utf-8")):
            if kind == "currentmodule":
                module = name
            else:
                entries.append(f"{module}.{name}")
    return entries


def test_the_reference_has_every_declared_name_once_and_no_other() -> None:
    declared = [f"{module}.{name}" for module in DECLARED for name in importlib.import_module(module).__all__]
    assert sorted(in_the_reference()) == sorted(set(declared) - {"tts_prep.__version__"})


@pytest.mark.parametrize("module", DECLARED)
def test_every_declared_name_is_in_a_page_or_an_example(module: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in [*PAGES, *EXAMPLES])
    words = set(re.findall(r"\w+", text))
    assert set(importlib.import_module(module).__all__) - words - {"__version__"} == set()


@pytest.mark.parametrize("module", DECLARED)
def test_every_declared_name_exists_and_is_documented(module: str) -> None:
    declared = importlib.import_module(module)
    assert set(declared.__all__) <= set(dir(declared))
    for name in declared.__all__:
        value = getattr(declared, name)
        assert name in ("__version__", "LAYOUTS", "MEASURES", "PRESETS") or (
            value.__doc__ and not value.__doc__.startswith(f"{name}(")
        )


@pytest.mark.parametrize("module", DECLARED)
def test_importing_a_declared_module_loads_no_library_of_audio_or_text(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not LIBRARIES & set(loaded)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_package_writes_its_public_names_once_and_loads_them_on_first_use(tmp_path: Path, zipped: bool) -> None:
    package = tmp_path / "sea"
    package.mkdir()
    package.joinpath("__init__.py").write_text(
        "from typing import TYPE_CHECKING\nfrom tts_prep.public_names import public_names\n"
        "if TYPE_CHECKING:\n    from sea.deep import Squid as Squid\n    from sea.deep import Hidden\n"
        "else:\n    __all__, __getattr__, __dir__ = public_names(__name__)\n"
    )
    package.joinpath("deep.py").write_text("class Squid: pass\nHidden = 1\n")
    path = shutil.make_archive(str(tmp_path / "seas"), "zip", tmp_path, "sea") if zipped else str(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {path!r})\nimport sea\n"
        "print('sea.deep' in sys.modules, sea.__all__, 'Squid' in dir(sea))\n"
        "from sea import *\nimport sea.deep\nprint(Squid is sea.deep.Squid, hasattr(sea, 'Hidden'))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False ['Squid'] True\nTrue False\n"


def test_a_name_that_is_not_declared_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'tts_prep\.preprocess' has no attribute 'prepair'"):
        importlib.import_module("tts_prep.preprocess").prepair  # noqa: B018
