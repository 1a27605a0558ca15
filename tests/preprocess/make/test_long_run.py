"""Hours of epochs and hours of audio, with constant memory and file descriptors. Run by 'make soak'."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile
from corpora import SAMPLE_RATE, speech_like
from killing import workers_of
from memory import environment
from stores import make_rows, write_store

from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

MINUTES = float(os.environ.get("MINUTES", "60"))
HOURS = float(os.environ.get("HOURS", "10"))
proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")


def resident() -> int:
    """Return the private memory of this process in bytes, without mapped files."""
    _, pages, shared, *_ = Path("/proc/self/statm").read_text().split()
    return (int(pages) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def epochs_are_flat(store: Path, seconds: float, least: int = 10) -> tuple[int, int, int]:
    """Read epochs for a time, but at least so many; return their number, and the growth in bytes and descriptors."""
    dataset = UtteranceDataset(store)
    loader = DataLoader(dataset, batch_sampler=LengthBucketBatchSampler(dataset.n_frames, max_frames=2000, seed=0))
    end = time.monotonic() + seconds
    for _ in range(5):
        for _batch in loader:
            pass
    memory, files, count = resident(), descriptors(), 5
    while time.monotonic() < end or count < least:
        for _batch in loader:
            pass
        count += 1
    return count, resident() - memory, descriptors() - files


@proc
def test_tens_of_epochs_leave_memory_and_descriptors_flat(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_rows([40 + i % 60 for i in range(300)]), n_shards=10)
    # An epoch has 21,000 frames of 5 numbers, so that the batches after the first epochs together have 17 MB.
    _, memory, files = epochs_are_flat(store, 0, 45)
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


@dataclass(frozen=True)
class Sample:
    """The peak memory in bytes and the file descriptors of a command and its largest worker."""

    command: int
    worker: int
    command_files: int
    worker_files: int


def sample(command: int) -> Sample:
    """Measure a command that is a session leader, and its workers.

    Raises:
        OSError: one of them has ended.
    """
    workers = workers_of(command)
    return Sample(
        peak(command),
        max(map(peak, workers), default=0),
        len(os.listdir(f"/proc/{command}/fd")),
        max((len(os.listdir(f"/proc/{worker}/fd")) for worker in workers), default=0),
    )


def peak(process: int) -> int:
    """Return the peak memory of a process in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) << 10


@pytest.mark.soak
@proc
def test_hours_of_audio_take_no_more_memory_than_their_first_tenth(tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    from synthesise import synthesise

    synthesise(tmp_path / "lj", HOURS)
    store = tmp_path / "s"
    # A process of its own: what the corpus took to be made would hide what this takes.
    command = [sys.executable, "-m", "tts_prep", "ljspeech", str(tmp_path / "lj"), str(store)]
    process = subprocess.Popen([*command, "--jobs", "2"], start_new_session=True, stderr=subprocess.DEVNULL)
    samples: list[tuple[int, Sample]] = []
    try:
        while process.poll() is None:
            time.sleep(0.1)
            with contextlib.suppress(OSError, StopIteration):
                samples.append((len(list(store.glob("shards/*.h5"))), sample(process.pid)))
    finally:
        process.kill()
    assert process.wait() == 0
    shards = samples[-1][0]
    tenth = next(found for made, found in samples if made * 10 >= shards and made > 2)
    end = Sample(*(max(column) for column in zip(*(astuple(found) for _, found in samples), strict=True)))
    print(f"\n{HOURS:g} hours, {shards} shards: {tenth} after a tenth, {end} at most")
    assert end.command < tenth.command * 1.15 + 20e6
    assert end.worker < tenth.worker * 1.15 + 20e6
    assert end.command_files <= tenth.command_files + 4
    assert end.worker_files <= tenth.worker_files + 4


@pytest.mark.soak
def test_an_hour_in_one_recording_takes_less_than_a_gigabyte(tmp_path: Path) -> None:
    sound = np.tile((32767 * speech_like(60, 1)).astype(np.int16), 60)
    (tmp_path / "lj/wavs").mkdir(parents=True)
    soundfile.write(tmp_path / "lj/wavs/a.wav", sound, SAMPLE_RATE)
    (tmp_path / "lj/metadata.csv").write_text("a|raw|One hour.\n")
    for dtype in ("int16", "float32"):
        program = "import sys; from memory import peak_memory; from tts_prep.cli.main import main\n"
        program += "try: main(sys.argv[1:])\nfinally: print(peak_memory())"
        options = ["--jobs", "1", "--frontend", "characters", "--waveform", dtype]
        done = subprocess.run(
            [sys.executable, "-c", program, "ljspeech", tmp_path / "lj", tmp_path / dtype, *options],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
        )
        peak = int(done.stdout.split()[-1])
        print(f"one hour with its waveform as {dtype}: {peak / 1e6:.0f} MB")
        assert peak < 1e9
