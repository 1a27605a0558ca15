"""The modules that are loaded by importing the loader."""

import subprocess
import sys

import pytest

import tts_prep.loader

HEAVY = {
    "librosa", "scipy", "numba", "soundfile", "soxr", "joblib", "click", "torch", "paddle", "tqdm", "sklearn",
    "matplotlib", "phonemizer", "yaml", "h5py",
}  # fmt: skip


def test_importing_the_loader_loads_no_heavy_library():
    code = "import sys, tts_prep.loader; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not HEAVY & set(loaded)


def test_importing_the_recipes_loads_no_heavy_library_either():
    code = "import sys\nfrom tts_prep.recipes import *\nprint(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_importing_the_loader_loads_neither_preprocess_nor_cli():
    code = "import sys, tts_prep.loader; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name.split(".")[1] for name in loaded if name.startswith("tts_prep.")}
    assert ours == {"errors", "format", "loader"}


@pytest.mark.parametrize("name", tts_prep.loader.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert getattr(tts_prep.loader, name).__doc__
