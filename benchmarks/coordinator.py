"""What a corpus of millions costs the process that coordinates: its memory, and the time spent outside of workers.

    python benchmarks/coordinator.py 10000 100000 1000000

All utterances refer to one short recording of noise. Each size runs in a process of its own, so that peaks of memory
are not those of the size before.

    python benchmarks/coordinator.py --workers 2 16 64 256

With ``--workers``, so many workers take no time: a process answers every job at once with the result of a real shard.
What is left is what a shard costs the coordinating process: pickling a job, its message, waiting, and the message and
unpickling of the result; the least of three runs. Results come at once, or 0.5 ms apart, as from real workers: then
each is waited for on its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.make.shards import make_shard
from tts_prep.preprocess.plan.planned_store import CorpusRows, plan_store
from tts_prep.preprocess.plan.shard_settings import make_recipe
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.workers.processes import ProcessPool, Worker
from tts_prep.preprocess.workers.worker import DONE
from tts_prep.progress import Progress

TEXTS = ("Yes.", "Why not?", "He left.", "It was cold.", "Come in, please.")
AUDIO = "noise.flac"


def utterances(count: int) -> Iterator[SourceUtterance]:
    for number in range(count):
        name = f"{number // 100_000:03d}_{number:08d}"
        where = f"{name[:3]}.trans.txt:{number + 1}"
        yield SourceUtterance(name, TEXTS[number % len(TEXTS)], AUDIO, where, f"speaker-{number // 400:04d}")


def open_and_read(store: Path) -> tuple[float, float]:
    """Return the seconds of opening a store, and of reading an utterance out of a random shard (mean of 2,000)."""
    from tts_prep.loader import UtteranceDataset

    start = time.perf_counter()
    dataset = UtteranceDataset(store)
    opened = time.perf_counter()
    chosen = np.random.default_rng(0).integers(len(dataset), size=2000)
    for position in chosen:
        _ = dataset[int(position)].mel.sum()
    return opened - start, (time.perf_counter() - opened) / len(chosen)


def measure(count: int, jobs: int) -> dict[str, float]:
    reports: list[float] = []

    def report(_: Progress) -> None:
        reports.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        soundfile.write(folder / AUDIO, np.random.default_rng(0).uniform(-0.5, 0.5, 1500), 22_050)
        start = time.perf_counter()
        result = prepare(utterances(count), folder, folder / "store", Configuration(), jobs=jobs, progress=report)
        end = time.perf_counter()
        size = sum(entry.size for entry in result.manifest.files)
        opening, reading = open_and_read(folder / "store")
    return {
        "utterances": count,
        "shards": len(result.manifest.shards),
        "plan": reports[0] - start,
        "shards_seconds": reports[-1] - reports[0],
        "assemble": end - reports[-1],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "worker_peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "gigabytes": size / 1e9,
        "opening": opening,
        "reading": reading,
    }


class IdleWorker(Worker):
    """A worker whose jobs are answered by another process."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self.connection, self.is_ready, self.ready_value, self._compiling = connection, True, None, ""

    def end(self) -> str:
        self.connection.close()
        return ""


def answer(connections: list[Connection[Any, Any]], result: bytes, apart: float) -> None:
    """Answer each message by the same result; between answers, wait for so many seconds."""
    while True:
        for connection in multiprocessing.connection.wait(connections):
            connection.recv_bytes()
            connection.send_bytes(result)
            if apart:
                time.sleep(apart)


def simulate(n_workers: int, n_shards: int, apart: float) -> dict[str, float]:
    """Return what a shard costs this process, with workers that take no time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        soundfile.write(folder / AUDIO, np.random.default_rng(0).uniform(-0.5, 0.5, 1500), 22_050)
        recipe = make_recipe(Configuration(), folder)
        plan = plan_store(CorpusRows(utterances(1000), folder, None), recipe).shards[1]
        make = partial(make_shard, recipe=recipe, store=folder)
        result = pickle.dumps((DONE, make(plan)))
    pairs = [multiprocessing.get_context("fork").Pipe() for _ in range(n_workers)]
    process = multiprocessing.get_context("fork").Process(
        target=answer, args=([theirs for _, theirs in pairs], result, apart), daemon=True
    )
    process.start()
    pool: ProcessPool[Any, Any] = ProcessPool(n_workers, print)
    pool._workers.extend(IdleWorker(ours) for ours, _ in pairs)
    before = time.process_time()
    for _ in pool.run(make, [plan] * n_shards, str, lambda job, _: job):
        pass
    seconds = time.process_time() - before
    process.kill()
    job = pickle.dumps((partial(make, beside_others=True), plan, {"advance": 0.25}))
    return {"processor": seconds / n_shards, "job": len(job), "result": len(result), "rows": plan.n_rows}


def show_simulation(counts: list[int], n_shards: int) -> None:
    print(
        "| workers | results at once: processor time of a shard (ms) | one by one (ms) | job; result (bytes) | rows |"
    )
    print("| --- " * 5 + "|")
    for count in counts:
        at_once, singly = (
            min((simulate(count, n_shards, apart) for _ in range(3)), key=lambda row: row["processor"])
            for apart in (0, 0.0005)
        )
        times = f"{1000 * at_once['processor']:.2f} | {1000 * singly['processor']:.2f}"
        print(f"| {count} | {times} | {singly['job']:,}; {singly['result']:,} | {singly['rows']} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory and time of the coordinating process.")
    parser.add_argument("counts", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--one", action="store_true", help="measure the first count in this process")
    parser.add_argument("--workers", type=int, nargs="+", help="simulate so many workers, which take no time")
    parser.add_argument("--shards", type=int, default=2000, help="of a simulation")
    arguments = parser.parse_args()
    if arguments.workers:
        show_simulation(arguments.workers, arguments.shards)
        return
    if arguments.one:
        print(json.dumps(measure(arguments.counts[0], arguments.jobs)))
        return
    print(
        "| utterances | shards | planning (s) | index and manifest (s) | workers (s) | peak memory here | of a worker "
        "| open the store (ms) | read a random utterance (ms) |"
    )
    print("| --- " * 9 + "|")
    for count in arguments.counts:
        command = [sys.executable, __file__, str(count), "--one", "--jobs", str(arguments.jobs)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(
            f"| {row['utterances']:,} | {row['shards']:,} | {row['plan']:.1f} | {row['assemble']:.1f} "
            f"| {row['shards_seconds']:.1f} | {row['peak']:,.0f} MiB | {row['worker_peak']:,.0f} MiB "
            f"| {row['opening'] * 1000:.0f} | {row['reading'] * 1000:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
