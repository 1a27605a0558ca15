"""The modules that are loaded by importing the loader."""

import subprocess
import sys

import pytest

import tts_prep.loader
from tts_prep.doors import rows
from tts_prep.preprocess.corpora.corpus import CORPORA

HEAVY = {
    "librosa", "scipy", "numba", "soundfile", "soxr", "joblib", "click", "torch", "paddle", "tqdm", "sklearn",
    "matplotlib", "phonemizer", "yaml", "h5py",
}  # fmt: skip


def test_importing_the_loader_loads_no_heavy_library():
    code = "import sys\nfrom tts_prep.loader import *\nprint(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not HEAVY & set(loaded)


def test_importing_the_recipes_loads_no_heavy_library_either():
    code = "import sys\nfrom tts_prep.recipes import *\nprint(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not HEAVY & set(loaded)


def test_importing_the_loader_loads_neither_preprocess_nor_cli():
    code = "import sys\nfrom tts_prep.loader import *\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name.split(".")[1] for name in loaded if name.startswith("tts_prep.")}
    assert ours == {"batches", "doors", "errors", "format", "loader", "ood", "public_names", "quantities"}


A_RUN = {"errors", "format", "preprocess", "quantities"}
"""The packages of which a run and its workers import modules."""

NOT_IN_A_RUN = ("corpora.manifests", "preprocess.audio.simd", "english")
"""Some packages that a worker does not import with the function that it is started with."""


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def readers_in(modules: set[str]) -> set[str]:
    return {name for name, row in rows("corpora").items() if row.place.partition(":")[0] in modules}


def test_a_worker_is_started_without_what_it_may_never_need():
    # What `tts_prep.preprocess.run` sends to each process.
    modules = modules_after("from tts_prep.preprocess.make.shards import get_ready")
    assert {name.split(".")[1] for name in modules if name.startswith("tts_prep.")} >= A_RUN
    assert not {name.partition(".")[0] for name in modules} & (HEAVY - {"soundfile", "h5py"})
    assert not modules & {f"tts_prep.{name}" for name in NOT_IN_A_RUN}
    assert not readers_in(modules)


def test_a_command_imports_the_reader_of_its_corpus_alone():
    code = "from tts_prep.cli.main import cli\ncli.commands['ljspeech']\nimport tts_prep.cli.preparing"
    modules = modules_after(code)
    assert {name.split(".")[1] for name in modules if name.startswith("tts_prep.")} >= {*A_RUN, "cli"}
    assert not {name.partition(".")[0] for name in modules} & (HEAVY - {"soundfile", "h5py", "click"})
    assert "tts_prep.corpora.manifests" not in modules
    assert readers_in(modules) == {"ljspeech"}


def test_a_corpus_is_called_as_its_row():
    assert [corpus.name for corpus in CORPORA.values()] == list(CORPORA)


@pytest.mark.parametrize("name", tts_prep.loader.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert getattr(tts_prep.loader, name).__doc__
