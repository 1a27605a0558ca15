"""Full, failing, read-only and missing disks, and a changing corpus: a clear error, and no loss of data."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
from commands import light
from corpora import speech_like
from killing import contents
from mounting import mounted

import tts_prep.preprocess.make.recordings
from tts_prep.errors import AudioError, CorpusChangedError, WriteError
from tts_prep.format.files.atomic import replacing
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import Result, prepare

SMALL = Configuration(store=StoreConfig(shard_utterances=3))


def run(root: Path, store: Path, **options: object) -> Result:
    return prepare(read_ljspeech(root), root, store, SMALL, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and Linux")
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).parents[2] / "faults.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def test_whichever_write_fails_the_error_names_the_file_and_the_store_can_be_finished(
    faults: Path, corpus: Path, tmp_path: Path
) -> None:
    # A disk that is full from then on, and a write that fails once.
    kinds = ((errno.ENOSPC, True, 43), (errno.EIO, False, 47))
    done = subprocess.run(
        [
            *(sys.executable, Path(__file__).parents[2] / "sweep_faults.py", faults, corpus, tmp_path),
            *(
                number
                for code, stays, step in kinds
                for number in (str(code), str(int(stays)), os.environ.get("FAULT_STEP", str(step)))
            ),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_PRELOAD": str(faults)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)
    first, second = map(int, done.stdout.split())
    assert min(first, second) > 50


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", "size=400k", "none"):
        yield folder


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_disk_that_is_really_full_is_an_error_that_names_the_file_and_a_larger_one_is_gone_on_with(
    small_disk: Path, store: Path, corpus: Path, jobs: int
) -> None:
    with pytest.raises(WriteError, match=r"disk/store/.+: cannot be written \(No space left on device\); finished"):
        run(corpus, small_disk / "store", jobs=jobs)
    subprocess.run(["mount", "-o", "remount,size=10m", small_disk], check=True)
    run(corpus, small_disk / "store", jobs=jobs)
    assert contents(small_disk / "store") == contents(store)


def test_a_disk_that_became_read_only_is_an_error_that_names_the_file(small_disk: Path, corpus: Path) -> None:
    (small_disk / "store").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(WriteError, match=r"disk/store/\.lock: cannot be written \(Read-only file system\)"):
        run(corpus, small_disk / "store")


@pytest.mark.parametrize("limit", [0, 2_000, 20_000, 60_000])
def test_a_limit_on_the_size_of_files_is_an_error_that_names_the_file(
    corpus: Path, store: Path, tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(*arguments: object) -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        return write(*arguments)

    # From the first shard on: espeak-ng's library has to be copied before.
    write = tts_prep.preprocess.make.shards.write_rows
    monkeypatch.setattr(tts_prep.preprocess.make.shards, "write_rows", limited)
    try:
        with pytest.raises(WriteError, match=r"shards/0000\d\.h5: cannot be written \(File too large\)"):
            run(corpus, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    monkeypatch.undo()
    run(corpus, path)
    assert contents(path) == contents(store)


def test_a_full_device_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with (
        pytest.raises(WriteError, match=r"file: cannot be written \(No space left on device\)"),
        replacing(tmp_path / "file"),
        open("/dev/full", "wb") as full,
    ):
        full.write(b"x")
    assert not list(tmp_path.iterdir())


def test_a_store_that_vanished_while_it_was_made_is_an_error_that_names_the_file(corpus: Path, tmp_path: Path) -> None:
    def vanish(_: object) -> None:
        shutil.rmtree(tmp_path / "store", ignore_errors=True)

    with pytest.raises(WriteError, match=r"store/.+: cannot be written \(No such file or directory\)"):
        run(corpus, tmp_path / "store", progress=vanish)


# The error is the same object in a worker process: it comes from there once.
@pytest.mark.parametrize(("change", "jobs"), [("longer", 1), ("shorter", 1), ("gone", 1), ("there", 1), ("shorter", 2)])
def test_a_recording_that_changes_between_plan_and_run_ends_the_run_and_is_named(
    own_corpus: Path, store: Path, tmp_path: Path, change: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = own_corpus
    path = root / "wavs" / "S-0005.wav"
    whole = path.read_bytes()
    if change == "there":
        path.unlink()

    import tts_prep.preprocess.plan.planned_store as planning

    def plan_and_change(*arguments: object) -> object:
        plans = list(plan_shards(*arguments))
        if change == "gone":
            path.unlink()
        else:
            path.write_bytes({"longer": whole + b"\0\0", "shorter": whole[:-2], "there": whole}[change])
        return plans

    plan_shards = planning.plan_shards
    monkeypatch.setattr(planning, "plan_shards", plan_and_change)
    found = {
        "longer": f"{len(whole) + 2:,} bytes now, {len(whole):,} bytes when",
        "shorter": f"{len(whole) - 2:,} bytes now, {len(whole):,} bytes when",
        "gone": f"missing now, {len(whole):,} bytes when",
        "there": f"{len(whole):,} bytes now, missing when",
    }[change]
    with pytest.raises(CorpusChangedError, match=f"S-0005.wav: {found} the run was planned; do not modify the corpus"):
        prepare(read_ljspeech(root), root, tmp_path / "store", SMALL if jobs == 1 else light(3), jobs=jobs)
    if jobs > 1:
        return
    monkeypatch.undo()
    path.write_bytes(whole)
    run(root, tmp_path / "store")
    assert contents(tmp_path / "store") == contents(store)


@pytest.mark.parametrize("fails", [False, True])
def test_a_recording_that_grows_while_it_is_read_ends_the_run(
    own_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    def read_and_grow(path: Path, *arguments: object, **keywords: object) -> object:
        waveform = read(path, *arguments, **keywords)
        soundfile.write(path, speech_like(2, 1), 22050)
        if fails:
            raise AudioError("half of it")
        return waveform

    read = tts_prep.preprocess.make.recordings.read_samples
    monkeypatch.setattr(tts_prep.preprocess.make.recordings, "read_samples", read_and_grow)
    with pytest.raises(CorpusChangedError, match="S-0000.wav"):
        run(own_corpus, tmp_path / "store")
