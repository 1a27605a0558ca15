"""Nothing is run from the working folder, which may be a store or a corpus that comes from anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Of Python, of libraries, and our own; some are imported by a process that starts, others when it works.
NAMES = (
    *("json", "numbers", "multiprocessing", "pickle", "signal", "struct", "socket", "threading", "runpy", "subprocess"),
    *("select", "selectors", "resource", "zlib", "ast", "queue", "h5py", "numpy", "joblib", "soundfile", "scipy"),
    *("mpi4py", "psutil", "lz4", "sitecustomize", "usercustomize", "tts_prep"),
)
# The search path of the script `tts-prep`: the folder of the script, and not the working folder.
SCRIPT = "from tts_prep.__main__ import main\nif __name__ == '__main__':\n    main()\n"
LIBRARY = "from tts_prep.loader import UtteranceDataset\nprint(len(UtteranceDataset('.', verify=True)))\n"


def poison(folder: Path, mark: Path) -> None:
    """Write modules that note that they were imported, and then are of no use."""
    for name in NAMES:
        code = f"import os\nos.close(os.open({str(mark)!r} + {name!r}, os.O_CREAT | os.O_WRONLY))\nraise ImportError\n"
        if name == "tts_prep":
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(code)
        else:
            (folder / f"{name}.py").write_text(code)


def run(folder: Path, script: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    return subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        cwd=folder,
        env={**plain, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/command").write_text(SCRIPT)
    (tmp_path / "bin/library").write_text(LIBRARY)
    return tmp_path / "bin/command"


def imported(mark: Path) -> list[str]:
    return sorted(path.name.removeprefix(mark.name) for path in mark.parent.glob(f"{mark.name}*"))


def test_a_store_in_which_modules_lie_is_verified_and_they_are_not_run(
    store: Path, tmp_path: Path, script: Path
) -> None:
    own, mark = Path(shutil.copytree(store, tmp_path / "s")), tmp_path / "ran-"
    poison(own, mark)
    done = run(own, script, "verify", ".")
    assert (done.returncode, imported(mark), done.stderr) == (0, [], "")
    done = run(own, script.with_name("library"))
    assert (done.returncode, imported(mark), done.stderr) == (0, [], "")


@pytest.mark.parametrize("options", [[], pytest.param(["--backend", "loky"], marks=pytest.mark.soak)])
def test_workers_run_no_modules_of_the_working_folder(
    corpus: Path, tmp_path: Path, script: Path, options: list[str]
) -> None:
    if "loky" in options and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no safe path for processes that joblib starts")
    folder, mark = tmp_path / "w", tmp_path / "ran-"
    folder.mkdir()
    poison(folder, mark)
    done = run(folder, script, "ljspeech", corpus, "made", "--shard-utterances", "2", "--jobs", "2", *options)
    assert (done.returncode, imported(mark)) == (0, []), done.stderr
    # Relative paths are those of the working folder, also in workers.
    assert (folder / "made/manifest.json").is_file()


@pytest.mark.whole
def test_a_reader_of_ones_own_is_found_in_the_working_folder_and_replaces_no_module(
    tmp_path: Path, script: Path
) -> None:
    folder, mark = tmp_path / "w", tmp_path / "ran-"
    folder.mkdir()
    poison(folder, mark)
    (folder / "mine.py").write_text("def read(corpus):\n    return []\n")
    script.write_text(
        "from tts_prep.preprocess.corpora.corpus import import_reader as find\nfind('mine:read')\n"
        "import socket, runpy, h5py\n"
    )
    done = run(folder, script)
    assert (done.returncode, imported(mark)) == (0, []), done.stderr
