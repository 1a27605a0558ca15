"""Hours of epochs and hours of audio: memory and file descriptors stay flat. Run by 'make soak'."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

import pytest
from stores import make_rows, write_store

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

MINUTES = float(os.environ.get("MINUTES", "60"))
HOURS = float(os.environ.get("HOURS", "10"))
proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")


def resident() -> int:
    """Return the bytes of memory that are this process's own: those of mapped files are the page cache's."""
    _, pages, shared, *_ = Path("/proc/self/statm").read_text().split()
    return (int(pages) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def epochs_are_flat(store: Path, seconds: float) -> tuple[int, int, int]:
    """Read epochs for so long; return their number, and the growth in bytes and file descriptors."""
    dataset = UtteranceDataset(store)
    loader = DataLoader(dataset, batch_sampler=LengthBucketBatchSampler(dataset.n_frames, max_frames=2000, seed=0))
    end = time.monotonic() + seconds
    for _ in range(5):
        for _batch in loader:
            pass
    memory, files, count = resident(), descriptors(), 5
    while time.monotonic() < end or count < 10:
        for _batch in loader:
            pass
        count += 1
    return count, resident() - memory, descriptors() - files


@proc
def test_seconds_of_epochs_leave_memory_and_descriptors_flat(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([40 + i % 60 for i in range(300)]), n_shards=10)
    _, memory, files = epochs_are_flat(store, 3)
    assert memory < 8e6
    assert files <= 0


@pytest.mark.soak
@proc
def test_an_hour_of_epochs_leaves_memory_and_descriptors_flat(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([40 + i % 600 for i in range(3000)]), n_shards=40)
    count, memory, files = epochs_are_flat(store, MINUTES * 60)
    print(f"\n{MINUTES:g} minutes, {count:,} epochs: {memory / 1e6:+.1f} MB, {files:+d} file descriptors")
    assert memory < 32e6
    assert files <= 0


@pytest.mark.soak
@proc
def test_hours_of_audio_take_no_more_memory_than_one_hour(tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from synthesise import synthesise

    from tts_prep.preprocess.configuration import Configuration
    from tts_prep.preprocess.corpora import read_ljspeech
    from tts_prep.preprocess.pipeline import Progress, prepare

    synthesise(tmp_path / "lj", HOURS)
    peaks: list[tuple[float, int, int]] = []

    def note(progress: Progress) -> None:
        peaks.append((progress.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, descriptors()))

    prepare(read_ljspeech(tmp_path / "lj"), tmp_path / "lj", tmp_path / "s", Configuration(), progress=note)
    tenth = peaks[len(peaks) // 10]
    print(f"\n{HOURS:g} hours: peak {tenth[1] / 1e3:.0f} MB after a tenth, {peaks[-1][1] / 1e3:.0f} MB at the end")
    assert peaks[-1][1] < tenth[1] * 1.15 + 20_000
    assert peaks[-1][2] <= tenth[2]
